"""Giving something to the knowledge on any platform: what people are told (who may, and how far it is), and working
what was taken in off, with its progress shown now and then and what became of it at the end.

Source: product.md §3 and §5; reliability.md R19, R28, R34 and R44.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime

from adapters.markdown.events import shortened
from adapters.port import PostError
from adapters.shared.verdicts import verdict_line
from bot.access import reaches_team
from bot.bot import Bot
from bot.types import Actor, Audience, Fetch, FileRef, IngestionRequest, Place, Post, Verdict
from retrieval.i18n import Language, Text
from retrieval.types import EVERYONE, TEAM, RAGToolError

LINES = 25  # verdicts that one message shows
LINE, NAME = 330, 80  # characters of one, and of the file's name in it
AROUND = 120  # characters that may stand around a link and still be about it

NOTHING = Text(en="Give a file, a text or a link.", ja="ファイル、テキスト、リンクのいずれかを指定してください。")
ONE_KIND = Text(
    en="Add a link by itself, without files or a text.", ja="リンクは、ファイルやテキストとは別に追加してください。"
)
STARTED = Text(en="I am reading it; the result will follow.", ja="読み込みを始めました。結果は追ってお知らせします。")
MESSAGE_STARTED = Text(
    en="I am reading the message that the link leads to, not the words around the link; the result will follow.",
    ja="リンク先のメッセージを読み込みます（リンクの前後の文は追加しません）。結果は追ってお知らせします。",
)
AMBIGUOUS = Text(
    en="There is a link to a message in this text, so I cannot tell whether you want to add the message or the text. "
    "For a message, give its link alone, one at a time; for the text, use /ingest with nothing after it and paste the "
    "text into the form.",
    ja="メッセージへのリンクを含む文章なので、リンク先のメッセージと文章のどちらを追加するのか判断できません。メッセージは"
    "リンクだけを 1 件ずつ指定してください。文章は、/ingest だけを送信すると開くフォームに貼り付けてください。",
)
GIVEN = Text(en="You entered:", ja="入力された内容:")
FAILED = Text(
    en="Sorry, that could not be stored. Please try again.",
    ja="申し訳ありません。保存できませんでした。もう一度お試しください。",
)
MESSAGE_GONE = Text(
    en="the message cannot be read; it may be deleted, or I am not in its channel",
    ja="メッセージを読めません。削除されたか、チャンネルに私が参加していない可能性があります",
)
NO_TEXT = Text(
    en="there is no text in it; what I have written myself does not count",
    ja="テキストがありません（私自身の投稿は対象外です）",
)

MEMBERS = Text(
    en="Only members of the team can add to the knowledge.", ja="ナレッジに追加できるのは、チームのメンバーだけです。"
)
TITLE = Text(en="Add to knowledge", ja="ナレッジに追加")
FILES = Text(en="Files", ja="ファイル")
TEXT = Text(en="or a text", ja="またはテキスト")
TEXT_TITLE = Text(en="Title of the text", ja="テキストのタイトル")
COLLECTION = Text(en="Collection", ja="コレクション")
NEW_COLLECTION = Text(en="or a new collection", ja="または新しいコレクション")
SCOPE = Text(en="Who may find it", ja="公開範囲")

_READERS = {
    TEAM: Text(en="Everyone in the team", ja="チームの全員"),
    EVERYONE: Text(en="Everyone, guests and partners too", ja="全員（ゲストや社外の人を含む）"),
}
_HERE = Text(en="Members of this channel only", ja="このチャンネルのメンバーのみ")
_PASTED = Text(en="Pasted text", ja="貼り付けたテキスト")
_HEAD = Text(en="📥 Reading {done} of {total}…", ja="📥 読み込み中（{done}/{total}）…")
_DONE = Text(
    en="📥 Done: {ok} added or up to date, {bad} refused.",
    ja="📥 完了しました: 追加・更新 {ok} 件、追加できなかったもの {bad} 件。",
)
_NO_SCOPE = Text(
    en="You cannot choose this for “Who may find it” here. Possible: {scopes}.",
    ja="ここでは「公開範囲」にその値を選べません。選べるのは {scopes} です。",
)
_CHOOSE = Text(
    en="People from outside may read this channel, so say who may find it: send /ingest with nothing after it there, "
    "and choose it in the form.",
    ja="このチャンネルは社外の人も見ている可能性があるため、公開範囲を選んでください。そのチャンネルで /ingest だけを"
    "送信すると、フォームで選べます。",
)
_MORE = Text(en="… and {n} more", ja="… ほか {n} 件")
_BY = Text(en="Added by {who}", ja="追加した人: {who}")


class NotTakenError(RAGToolError):
    """The addition is refused; says why in words. `field`: of a form, the one to mend."""

    def __init__(self, why: Text, field: str = "link", **values: str) -> None:
        super().__init__(why, **values)
        self.field = field


@dataclass(frozen=True, slots=True)
class Refusals:
    """Why nothing can be added at a place, in a platform's words: by outsiders, before outsiders, and where it is not
    known who reads it."""

    outsiders: Text
    before_outsiders: Text
    before_unknown: Text


async def scopes(
    bot: Bot, place: Place, actor: Awaitable[Actor], audience: Awaitable[Audience], refusals: Refusals
) -> tuple[tuple[str, ...], Audience]:
    """Those who may be allowed to read what somebody adds at a place, the default first; and who reads the place.
    Raises NotTakenError when nobody may add there."""
    who, readers = await asyncio.gather(actor, audience)
    found = bot.ingestion.scopes(who, place, readers)
    if not found and who.role == "outsider":
        raise NotTakenError(refusals.outsiders, "collection")
    if not found:
        unknown = readers.visibility == "unknown"
        raise NotTakenError(refusals.before_unknown if unknown else refusals.before_outsiders, "collection")
    return found, readers


async def accept(
    bot: Bot, claim: str, wanted: IngestionRequest, scopes: Sequence[str], audience: Audience
) -> IngestionRequest | None:
    """Take in what is `wanted`, once a `claim`, for one of these scopes. An empty collection or scope: as is usual
    there; where outsiders read along, or nobody says who does, no scope is. Raises NotTakenError, StoreError."""
    if not wanted.scope and not reaches_team(audience):  # all that is left is for more than those who read it there
        raise NotTakenError(_CHOOSE, "scope")
    if wanted.scope and wanted.scope not in scopes:
        among = ("、" if wanted.language == "ja" else ", ").join(scopes)
        raise NotTakenError(_NO_SCOPE, "scope", scopes=among)
    collection = wanted.collection or (await bot.ingestion.collections(wanted.place, audience))[0]
    files = tuple(replace(file, over=EVERYONE in scopes) for file in wanted.files)  # only editors choose that
    wanted = replace(wanted, collection=collection, scope=wanted.scope or scopes[0], files=files)
    return await bot.ingestion.accept(claim, wanted)


def readers_of(scope: str, language: Language) -> str:
    """A scope in words, at the place it is chosen for."""
    return _READERS.get(scope, _HERE).to(language)


def is_address(text: str) -> bool:
    """An address of anything, and nothing else."""
    return text.startswith(("https://", "http://")) and len(text.split()) == 1


def link_meant(text: str, links: Iterable[str], *, as_text: bool) -> str | None:
    """Which of the links to messages in `text` it is about; None: the text itself is meant. Raises NotTakenError where
    nobody can tell.

    A link with few words around it means its message; a web address that leads to no message is part of a text.
    `as_text`: it was given where a text is asked for, where only a link that stands alone means a message."""
    found = list(dict.fromkeys(links))
    around = text
    for link in sorted(found, key=len, reverse=True):
        around = around.replace(link, " ")
    around = " ".join(around.split()) if re.search(r"\w", around) else ""
    if not found or (as_text and (around or len(found) > 1)):
        return None
    if len(found) > 1 or len(around) > AROUND:
        raise NotTakenError(AMBIGUOUS)
    return found[0]


def pasted(text: str, name: str, language: Language) -> FileRef:
    """A text as a file, whose name is the given one or its first line."""
    line = next(iter(text.strip().splitlines()), "")
    first = name or line[:60].strip("# ").rstrip(" .。") or _PASTED.to(language)
    first = first.replace("/", "／")
    return FileRef(first if first.endswith(".md") else f"{first}.md", {"text": text})


def dated(parts: Sequence[tuple[str, str]]) -> bytes:
    """Days (ISO) and what was said then, as a document of the day on which the last of it was said."""
    last = max(day for day, _ in parts)
    return "\n\n".join((f"---\nupdated: {last}\n---", *(text for _, text in parts))).encode()


def message_name(text: str, instead: str, identity: str, at: datetime) -> str:
    """A document's name that people recognise and no other message has: its first words, its day and a short hash."""
    words = shortened(" ".join(text.split()), 60).replace("/", "／")
    return f"{words or instead} ({at:%Y-%m-%d} {hashlib.sha256(identity.encode()).hexdigest()[:4]}).md"


def progress(intake: IngestionRequest) -> tuple[str, list[str]]:
    """How far an intake is, and a line for each verdict, as many as are shown. They hold what people wrote: escape
    them."""
    verdicts = [file.verdict for file in intake.files if file.verdict is not None]
    bad = sum(verdict.status == "refused" for verdict in verdicts)
    if intake.done:
        head = _DONE.to(intake.language, ok=len(verdicts) - bad, bad=bad)
    else:
        head = _HEAD.to(intake.language, done=len(verdicts), total=len(intake.files))
    lines = [_line(verdict, intake.language) for verdict in verdicts[:LINES]]
    return head, lines + ([more(len(verdicts) - LINES, intake.language)] if len(verdicts) > LINES else [])


def more(count: int, language: Language) -> str:
    return _MORE.to(language, n=count)


def added_by(who: str, language: Language) -> str:
    return _BY.to(language, who=shortened(who, NAME))


def _line(verdict: Verdict, language: Language) -> str:
    return shortened(verdict_line(replace(verdict, name=shortened(verdict.name, NAME)), language), LINE)


log = logging.getLogger(__name__)


async def process(
    bot: Bot,
    intake: IngestionRequest,
    fetch: Fetch,
    post: Callable[[Post, IngestionRequest], Awaitable[Post]],
    edit: Callable[[Post, IngestionRequest], Awaitable[None]],
    tell: Callable[[IngestionRequest], Awaitable[None]],
    *,
    seconds: float,
    unreachable: type[PostError],
) -> None:
    """Read its files and show how far it is in one message, at most every `seconds`; the end is not waited with. Where
    it cannot be shown, its end is for `tell`. Raises StoreError.

    `post` (which returns the post with its message) and `edit` raise PostError; what could not be shown for a reason
    that passes (`unreachable`) is left for the next look. No file is read twice."""
    clock = asyncio.get_running_loop().time
    posted: Post | None = None
    possible, due = True, 0.0
    async with aclosing(bot.ingestion.process(intake, fetch)) as states:
        async for intake in states:
            now = clock()
            if possible and (intake.done or now >= due):
                try:
                    new = posted is None
                    posted = posted or await post(Post(intake.id, "intake", 0, intake.place, intake.thread), intake)
                    if not new or intake.done:
                        await edit(posted, intake)
                    due = now + seconds
                except unreachable as error:
                    log.warning("the progress of an intake could not be shown: %s", error.code)
                    if intake.done:
                        return
                except PostError as error:
                    log.info("the progress of an intake cannot be shown: %s", error.code)
                    possible = False
            if intake.done and not possible:
                await tell(intake)
