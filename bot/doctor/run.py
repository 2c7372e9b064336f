"""`kotae doctor`: everything that may be wrong with a home, each finding with what to do about it.

Source: product.md §5; newcomer.md rows 6, 7, 11. A check changes nothing, is bounded in time, and one that crashes is
a finding itself. A platform adds its own by handing `Check`s to `diagnose`.
"""

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.config.settings import ENV_FILE, Settings, load, unknown_names
from bot.doctor import data, machine, processes, services, sources
from bot.doctor.findings import Check, Finding, Level, Remark, Subject, fault
from bot.errors import SettingsError
from bot.logs import Redactor
from retrieval.i18n import Language, Text, filled

log = logging.getLogger(__name__)

SETTINGS = Subject("settings", Text(en="Settings", ja="設定"))

_MARKS: dict[Level, str] = {"ok": "✓", "warning": "!", "fault": "✗"}
_ALL_WELL = Text(en="Everything is well.", ja="問題は見つかりませんでした。")
_NO_FAULT = Text(en="No faults, {warnings} to look at.", ja="異常はありません。確認事項が {warnings} 件あります。")
_FAULTS = Text(en="Faults: {faults}. To look at: {warnings}.", ja="異常 {faults} 件、確認事項 {warnings} 件。")
_LOADED = Text(en="Every value can be used.", ja="すべての値が使えます。")
_CORRECT = Text(
    en="Correct it in .env or in the environment (.env.example shows every name), then run kotae doctor again.",
    ja=".env か環境変数を直してから（名前の一覧は .env.example にあります）、もう一度 kotae doctor "
    "を実行してください。",
)
_NO_SETTING = Text(
    en="{name} is set, but there is no setting of that name: it does nothing.",
    ja="{name} が設定されていますが、その名前の設定はなく、効果がありません。",
)
_MEANT = Text(en="Write {near}, if that is meant.", ja="{near} のつもりなら、名前を直してください。")
_TAKE_AWAY = Text(
    en="Correct the name (.env.example shows every one), or take it away.",
    ja="名前を直すか（一覧は .env.example にあります）、削除してください。",
)
_SLOW = Text(en="This check was not done after {seconds} seconds.", ja="{seconds} 秒たっても確認が終わりませんでした。")
_AGAIN = Text(
    en="Something it needs is slow or hangs: a disk, a network, a busy machine. Run kotae doctor again when it is "
    "quieter.",
    ja="ディスク、ネットワーク、マシンのどれかが遅いか止まっています。落ち着いてからもう一度 kotae doctor "
    "を実行してください。",
)
_CRASHED = Text(en="This check itself failed ({kind}).", ja="この確認そのものが失敗しました（{kind}）。")
_REPORT = Text(
    en="Run it again with KOTAE_LOG_LEVEL=INFO, which shows the reason, and report that.",
    ja="KOTAE_LOG_LEVEL=INFO を付けて実行し直すと理由が表示されます。その内容をお知らせください。",
)


async def diagnose(more: Sequence[Check] = (), *, env_file: Path | None = ENV_FILE) -> list[Finding]:
    """Everything about the home that the environment and `env_file` name. `more`: the platforms' checks."""
    try:
        settings = load(env_file)
    except SettingsError as error:
        return [Finding(SETTINGS, "fault", problem, _CORRECT) for problem in error.problems]
    loaded = unknown_settings(unknown_names(os.environ, env_file)) or [Finding(SETTINGS, "ok", _LOADED)]
    checks = (*machine.CHECKS, *data.CHECKS, *processes.CHECKS, *sources.CHECKS, *services.CHECKS, *more)
    return [*loaded, *await examine(settings, checks)]


def unknown_settings(names: Mapping[str, str | None]) -> list[Finding]:
    """Names that no setting has, each with the one that is like it, in words."""
    return [
        Finding(SETTINGS, "warning", filled(_NO_SETTING, name=name), filled(_MEANT, near=near) if near else _TAKE_AWAY)
        for name, near in names.items()
    ]


async def examine(settings: Settings, checks: Sequence[Check]) -> list[Finding]:
    """The findings of these checks, in their order; they run side by side."""
    redact = Redactor(settings.secrets())

    def clean(said: Text) -> Text:
        return Text(en=redact(said.en), ja=redact(said.ja))

    remarks = await asyncio.gather(*(_bounded(check, settings) for check in checks))
    return [
        Finding(check.about, remark.level, clean(remark.what), remark.todo and clean(remark.todo))
        for check, its in zip(checks, remarks, strict=True)
        for remark in its
    ]


async def _bounded(check: Check, settings: Settings) -> Sequence[Remark]:
    try:
        async with asyncio.timeout(check.seconds):
            return await check.run(settings)
    except TimeoutError:
        return [fault(filled(_SLOW, seconds=f"{check.seconds:g}"), _AGAIN)]
    except Exception as error:
        log.info("the check of %s failed", check.about.key, exc_info=True)
        return [fault(filled(_CRASHED, kind=type(error).__name__), _REPORT)]


def status(findings: Sequence[Finding]) -> int:
    """The exit status: 0 without a fault, 2 when the settings do not load, else 1."""
    faults = [finding.about for finding in findings if finding.level == "fault"]
    return 2 if SETTINGS in faults else 1 if faults else 0


def report(findings: Sequence[Finding], language: Language) -> list[str]:
    """A line a finding, the next step under it, and a verdict."""
    lines: list[str] = []
    for finding in findings:
        title = finding.about.title.to(language)
        lines.append(f"{_MARKS[finding.level]} {title}: {finding.what.to(language)}")
        if finding.todo:
            lines.append(f"    → {finding.todo.to(language)}")
    faults, warnings = (sum(finding.level == level for finding in findings) for level in ("fault", "warning"))
    verdict = _FAULTS if faults else _NO_FAULT if warnings else _ALL_WELL
    return [*lines, verdict.to(language, faults=faults, warnings=warnings)]


def as_json(findings: Sequence[Finding], language: Language) -> dict[str, Any]:
    """`{"ok", "status", "findings": [{"about", "level", "what", "next"}]}`; texts in `language`."""
    shown = [
        {
            "about": finding.about.key,
            "level": finding.level,
            "what": finding.what.to(language),
            "next": finding.todo.to(language) if finding.todo else None,
        }
        for finding in findings
    ]
    return {"ok": not status(findings), "status": status(findings), "findings": shown}
