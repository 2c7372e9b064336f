"""Checks of `kotae doctor` on the sources that documents follow: are they well, and is git there for them."""

import shutil
from collections.abc import Sequence

from bot.config.settings import Settings
from bot.doctor.findings import Check, Remark, Subject, fault, fine, warning
from bot.errors import StoreError
from bot.sources.git import NO_GIT
from bot.store.engine import opened
from bot.store.followed import FollowedSources
from bot.store.inspection import unbegun
from bot.texts import MANY_GONE, if_meant
from retrieval.i18n import Text, filled

SOURCES = Subject("sources", Text(en="Sources", ja="同期元"))
_NONE = Text(en="There are none.", ja="ありません。")
_WELL = Text(en="{n}, all as they were last seen.", ja="{n} 件、すべて正常です。")
_INSTALL = Text(
    en="Install git, such as with apt install git.", ja="git をインストールしてください（例: apt install git）。"
)
_TROUBLE = Text(
    en="“{name}” could not be synced ({times} time{times:|s}): {why}",
    ja="「{name}」を同期できません（{times} 回）: {why}",
)
_LOOK = Text(
    en="Put that right; it is tried again by itself, and at once with: kotae source sync {name}",
    ja="原因を解消してください。自動で再試行します。すぐに試すには kotae source sync {name} を実行してください。",
)


async def sources(settings: Settings) -> Sequence[Remark]:
    if unbegun(settings.database_url):
        return [fine(_NONE)]
    try:
        async with opened(settings.database_url, settings.link) as engine:
            found = await FollowedSources(engine).listed()
    except (StoreError, OSError):  # which the database's own check says
        return []
    remarks = []
    if any(one.kind == "git" for one in found) and shutil.which("git") is None:
        remarks.append(fault(NO_GIT, _INSTALL))
    for one in found:
        if one.trouble is not None:
            said = filled(_TROUBLE, name=one.name, times=str(one.failures), why=one.trouble)
            remarks.append(warning(said, filled(_LOOK, name=one.name)))
        if one.state == "asks":
            problem, remedy = filled(MANY_GONE, name=one.name, gone=str(one.gone)), if_meant(one.kind)
            remarks.append(warning(problem, filled(remedy, name=one.name)))
    return remarks or [fine(filled(_WELL, n=str(len(found))) if found else _NONE)]


CHECKS = (Check(SOURCES, sources),)
