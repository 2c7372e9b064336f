"""The app manifest (`manifest.json`, ready to paste): what is lost without each scope, and the link that makes an app
of it. Source: docs.slack.dev/reference/app-manifest, /reference/scopes,
/app-manifests/configuring-apps-with-app-manifests."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from retrieval.i18n import Text

MENTIONS = "app_mention"
MESSAGES = ("message.channels", "message.groups")


@dataclass(frozen=True, slots=True)
class Need:
    """A scope of the manifest. `without` it, this happens; `answers`: then people who ask go without an answer, or
    without one from the team's documents."""

    name: str
    without: Text
    answers: bool = False


_ONLY_EVERYONE = Text(
    en="only documents for everyone are used there",
    ja="そこでは全員に公開された文書だけで答えます",
)

NO_MENTIONS = Text(
    en="mentions are noticed only where Kotae also receives all messages",
    ja="すべてのメッセージを受信できるチャンネル以外では、メンションに気づけません",
)

SCOPES = (
    Need("app_mentions:read", NO_MENTIONS, answers=True),
    Need("chat:write", Text(en="nothing can be answered", ja="何も回答できません"), answers=True),
    Need(
        "channels:read",
        Text(
            en="nobody knows who reads a public channel: " + _ONLY_EVERYONE.en,
            ja="公開チャンネルを誰が読むか分からず、" + _ONLY_EVERYONE.ja,
        ),
        answers=True,
    ),
    Need(
        "groups:read",
        Text(
            en="nobody knows who reads a private channel: " + _ONLY_EVERYONE.en,
            ja="非公開チャンネルを誰が読むか分からず、" + _ONLY_EVERYONE.ja,
        ),
        answers=True,
    ),
    Need(
        "im:write",
        Text(
            en="no person can be asked; such questions go to the digest's channel",
            ja="担当者に直接は聞けず、質問はダイジェストのチャンネルに届きます",
        ),
    ),
    Need(
        "users:read",
        Text(
            en="nobody is known to be a member, so only documents for everyone are used",
            ja="質問者がメンバーかどうか分からず、全員に公開された文書だけで答えます",
        ),
        answers=True,
    ),
    Need(
        "im:read",
        Text(
            en="in direct messages " + _ONLY_EVERYONE.en,
            ja="ダイレクトメッセージの相手を確かめられず、" + _ONLY_EVERYONE.ja,
        ),
        answers=True,
    ),
    Need(
        "mpim:read",
        Text(
            en="in group messages " + _ONLY_EVERYONE.en,
            ja="グループメッセージの参加者を確かめられず、" + _ONLY_EVERYONE.ja,
        ),
        answers=True,
    ),
    Need(
        "im:history",
        Text(en="direct messages are not answered", ja="ダイレクトメッセージに回答できません"),
        answers=True,
    ),
    Need(
        "channels:history",
        Text(
            en="in public channels the rest of a thread is not read, and edited or deleted questions are not noticed",
            ja="公開チャンネルでは、スレッドの前後を読めず、質問の編集や削除に気づけません",
        ),
    ),
    Need(
        "groups:history",
        Text(
            en="in private channels the rest of a thread is not read, and edited or deleted questions are not noticed",
            ja="非公開チャンネルでは、スレッドの前後を読めず、質問の編集や削除に気づけません",
        ),
    ),
    Need(
        "mpim:history",
        Text(
            en="in group messages the rest of a thread is not read, and edited or deleted questions are not noticed",
            ja="グループメッセージでは、スレッドの前後を読めず、質問の編集や削除に気づけません",
        ),
    ),
    Need(
        "commands",
        Text(
            en="/ingest, /kotae and the shortcut “Add to knowledge” do not exist",
            ja="/ingest、/kotae、ショートカット「Add to knowledge」が使えません",
        ),
    ),
    Need("files:read", Text(en="files cannot be read or added", ja="ファイルを読むことも追加することもできません")),
    Need(
        "reactions:read",
        Text(
            en="👍 and 👎 as reactions are not counted; the buttons are",
            ja="👍 と 👎 のリアクションは評価に数えられず、ボタンだけが有効です",
        ),
    ),
    Need(
        "assistant:write",
        Text(
            en="no questions are suggested in direct messages, conversations have no names, and Slack shows no button "
            "to stop an answer",
            ja="ダイレクトメッセージに質問の例が表示されず、会話に名前が付かず、回答を中止するボタンも表示されません",
        ),
    ),
)


@cache
def _kept() -> str:
    return (files(__package__) / "manifest.json").read_text(encoding="utf-8")


def text(address: str | None = None) -> str:
    """The manifest as it is pasted: JSON. `address`: where Slack posts events over HTTP; None: Socket Mode."""
    return _kept() if address is None else json.dumps(manifest(address), indent=2, ensure_ascii=False) + "\n"


def manifest(address: str | None = None) -> dict[str, Any]:
    made = dict(json.loads(_kept()))
    if address is not None:
        settings = made["settings"]
        settings["socket_mode_enabled"] = False
        for posted in (settings["event_subscriptions"], settings["interactivity"]):
            posted["request_url"] = address
        for command in made["features"]["slash_commands"]:
            command["url"] = address
    return made


def scopes() -> tuple[str, ...]:
    """The bot scopes that the manifest asks for."""
    return tuple(manifest()["oauth_config"]["scopes"]["bot"])


def events() -> tuple[str, ...]:
    """The bot events that the manifest subscribes to."""
    return tuple(manifest()["settings"]["event_subscriptions"]["bot_events"])


def missing(granted: Iterable[str]) -> list[Need]:
    """The scopes of the manifest that were not granted, those that cost answers first."""
    held = set(granted)
    return [need for need in SCOPES if need.name in scopes() and need.name not in held]


def link(address: str | None = None) -> str:
    """Opens Slack's "create an app" with everything filled in; a workspace is chosen there."""
    whole = json.dumps(manifest(address), ensure_ascii=False, separators=(",", ":"))
    return f"https://api.slack.com/apps?new_app=1&manifest_json={quote(whole, safe=':,/')}"
