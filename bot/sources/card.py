"""Sources in words, for the cards of `/kotae sources` and the digest, and the page. Source: sources.md §3."""

from collections.abc import Sequence
from datetime import datetime

from bot.sources.sources import SourceStatus
from bot.sources.sync import SyncReport
from bot.store.followed import FollowedSource
from bot.texts import SYNCED
from bot.types import CardRow
from bot.unanswered.digest_card import shortened
from retrieval.i18n import Language, Text, filled

TEXT = 160
_NAMED = 3  # pages that are no documents, of a source

STATES = {
    "on": Text(en="followed", ja="同期中"),
    "paused": Text(en="paused", ja="一時停止中"),
    "asks": Text(
        en="waits: {gone} page{gone: is|s are} gone at once. Forget them, or keep them?",
        ja="確認待ち: {gone} ページが一度になくなりました。文書を削除しますか、残しますか？",
    ),
}
_ASKS_A_CHANNEL = Text(
    en="waits: {gone} thread{gone: is|s are} gone at once. Forget them?",
    ja="確認待ち: {gone} 件のスレッドが一度になくなりました。文書を削除しますか？",
)
_ABOUT = Text(
    en="{kind} · {pages} page{pages:|s} in {collection} · {state}",
    ja="{kind} · {collection} に {pages} ページ · {state}",
)
KINDS = {
    "folder": Text(en="folder", ja="フォルダー"),
    "git": Text(en="git repository", ja="git リポジトリ"),
    "website": Text(en="website", ja="ウェブサイト"),
    "channel": Text(en="channel", ja="チャンネル"),
}
_NEVER = Text(en="not synced yet", ja="まだ同期していません")
_CHECKED = Text(en="last checked {ago}", ja="最終確認 {ago}")
_AGO = (
    (86_400, Text(en="{n} day{n:|s} ago", ja="{n} 日前")),
    (3_600, Text(en="{n} hour{n:|s} ago", ja="{n} 時間前")),
    (60, Text(en="{n} minute{n:|s} ago", ja="{n} 分前")),
)
_JUST_NOW = Text(en="just now", ja="たった今")
_NO_DOCUMENTS = Text(en="no documents ({n}): {pages}", ja="文書にできないページ（{n}）: {pages}")


def source_row(one: SourceStatus, now: datetime, language: Language) -> CardRow:
    """A source with what is to be known of it."""
    return CardRow(shortened(one.source.name, TEXT), tuple(details(one, now, language)))


def details(one: SourceStatus, now: datetime, language: Language) -> list[str]:
    """A source's facts, each a line: its trouble and pages that are no documents last."""
    source = one.source
    state = _state(source).to(language, gone=source.gone)
    kind, collection = KINDS[source.kind].to(language), shortened(source.collection, TEXT)
    lines = [_ABOUT.to(language, kind=kind, pages=one.pages, collection=collection, state=state)]
    lines.append(checked(source.checked_at, now, language))
    if source.trouble is not None:
        lines.append(f"⚠️ {shortened(source.trouble.to(language), TEXT)}")
    if one.refused:
        named = [f"{shortened(ref, TEXT)} ({shortened(why.to(language), TEXT)})" for ref, why in one.refused[:_NAMED]]
        lines.append(_NO_DOCUMENTS.to(language, n=len(one.refused), pages=", ".join(named)))
    return lines


def checked(at: datetime | None, now: datetime, language: Language) -> str:
    """When a source was last seen whole, in words."""
    if at is None:
        return _NEVER.to(language)
    seconds = (now - at).total_seconds()
    for size, words in _AGO:
        if seconds >= size:
            return _CHECKED.to(language, ago=words.to(language, n=int(seconds // size)))
    return _CHECKED.to(language, ago=_JUST_NOW.to(language))


def synced(name: str, report: SyncReport, language: Language) -> str:
    """A sync in a sentence."""
    counts = {key: getattr(report, key) for key in ("pages", "added", "replaced", "renamed", "removed")}
    return SYNCED.to(language, name=shortened(name, TEXT), **counts)


def troubles(found: Sequence[FollowedSource]) -> tuple[tuple[str, Text], ...]:
    """The names of those that need somebody, and why: they fail, or wait for a word."""
    asking = [(one.name, filled(_state(one), gone=str(one.gone))) for one in found if one.state == "asks"]
    return (*((one.name, one.trouble) for one in found if one.trouble is not None), *asking)


def _state(source: FollowedSource) -> Text:
    """The state in words: whatever a channel's threads said is not kept without it."""
    return _ASKS_A_CHANNEL if source.state == "asks" and source.kind == "channel" else STATES[source.state]
