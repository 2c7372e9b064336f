"""`/ingest`, `/kotae`, the message shortcut and the buttons: acknowledged within a second, worked on afterwards.

What is given is durable before it is acknowledged. Source: product.md §5; reliability.md R3, R19 and R44.
"""

import json
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from slack_bolt.app.async_app import AsyncApp

from adapters.slack import digest, home, voting
from adapters.slack.cards import card_blocks
from adapters.slack.client import SlackError
from adapters.slack.events import readable
from adapters.slack.intake import file_refs, link_target, resume, thread_name
from adapters.slack.modals import INGEST, Shortcut, given, ingest_modal
from adapters.slack.office import Office
from adapters.slack.widgets import Json
from bot.messages import Command, FileRef, Intake, Place
from bot.store.engine import StoreError
from retrieval.text import Language, Said
from retrieval.types import RAGToolError

log = logging.getLogger(__name__)

SHORTCUT = "add_to_knowledge"

_NOT_HERE = Said(
    en="Only full members of the workspace can add to the knowledge, and only where no outsiders are.",
    ja="ナレッジへの追加は、ワークスペースの正式メンバーが、社外の人がいない場所で行えます。",
)
_NOTHING = Said(en="Give a file, a text or a link.", ja="ファイル、テキスト、リンクのどれかを入れてください。")
_NO_LINK = Said(en="This is no link to a message in Slack.", ja="Slack のメッセージへのリンクではありません。")
_NOT_YOURS = Said(
    en="That message is in a channel that you or I am not in.",
    ja="あなたか私が参加していないチャンネルのメッセージです。",
)
_STARTED = Said(en="I am reading it; the result follows.", ja="読み込みを始めました。結果は追ってお知らせします。")
_FAILED = Said(
    en="Sorry, that could not be stored. Please try again.",
    ja="申し訳ありません。保存できませんでした。もう一度お試しください。",
)
_ONE_KIND = Said(
    en="Add a link by itself, without files or a text.", ja="リンクは、ファイルやテキストとは別に追加してください。"
)
_PASTED = Said(en="Pasted text", ja="貼り付けたテキスト")

Ack = Callable[..., Awaitable[Any]]


class RefusedError(Exception):
    """What was asked for is not done; says why in words. `field` of the modal is the one to mend."""

    def __init__(self, why: Said, field: str = "link") -> None:
        super().__init__(why.en)
        self.why = why
        self.field = field


def register(app: AsyncApp, office: Office) -> None:
    """All listeners of the app but the events, which the adapter's middleware takes."""
    digest.register(app, office)
    voting.register(app, office)

    @app.command("/ingest")
    async def ingest(ack: Ack, body: Json) -> None:
        text = str(body.get("text") or "").strip()
        if not text:
            await ack()
            office.tasks.start(_open(office, body, body["channel_id"]), "slack-ingest")
            return
        language = await office.language_of(body["user_id"])
        try:
            taken = await _take_text(office, body, text, language)
        except RefusedError as error:
            await ack(text=error.why.to(language))
        except (StoreError, RAGToolError) as error:
            log.warning("an /ingest could not be stored: %s", error)
            await ack(text=_FAILED.to(language))
        else:
            await ack(text=_STARTED.to(language))
            if taken is not None:
                office.tasks.start(resume(office, taken, body["response_url"]), "slack-intake")

    @app.command("/kotae")
    async def kotae(ack: Ack, body: Json) -> None:
        await ack()
        office.tasks.start(_command(office, body), "slack-command")

    @app.shortcut({"type": "message_action", "callback_id": SHORTCUT})
    async def shortcut(ack: Ack, body: Json) -> None:
        await ack()
        office.tasks.start(_open(office, body, body["channel"]["id"], _used_on(body, office)), "slack-shortcut")

    @app.action(home.INGEST_BUTTON)
    async def pressed(ack: Ack, body: Json) -> None:
        await ack()
        office.tasks.start(_open(office, body, None), "slack-ingest")

    @app.view(INGEST)
    async def submitted(ack: Ack, body: Json, view: Json) -> None:
        user = body["user"]["id"]
        language = await office.language_of(user)
        kept = json.loads(view["private_metadata"])
        try:
            taken = await _take_given(office, user, view, kept, language)
        except RefusedError as error:
            field = error.field if error.field in view["state"]["values"] else next(iter(view["state"]["values"]))
            await ack(response_action="errors", errors={field: error.why.to(language)})
        except (StoreError, RAGToolError) as error:
            log.warning("what a modal held could not be stored: %s", error)
            field = next(iter(view["state"]["values"]))
            await ack(response_action="errors", errors={field: _FAILED.to(language)})
        else:
            await ack()
            if taken is not None:
                office.tasks.start(resume(office, taken, kept.get("url") or None), "slack-intake")

    @app.options(re.compile(".*"))
    async def options(ack: Ack) -> None:
        await ack(options=[])


# -- /kotae -----------------------------------------------------------------------------------------------------------


async def _command(office: Office, body: Json) -> None:
    name, _, rest = str(body.get("text") or "").strip().partition(" ")
    user, channel = body["user_id"], body["channel_id"]
    language = await office.language_of(user)
    actor = await office.places.actor(user)
    audience = await office.places.audience(channel, user)
    command = Command(actor, office.place(channel), audience, name.lower() or "help", rest.strip(), language)
    try:
        card = await office.desk.command(command)
    except (StoreError, RAGToolError) as error:
        await office.slack.respond(body["response_url"], text=error.text(language))
        return
    text, blocks = card_blocks(card)
    await office.slack.respond(body["response_url"], text=text, blocks=blocks)


# -- adding to the knowledge ------------------------------------------------------------------------------------------


async def _open(office: Office, body: Json, channel: str | None, used_on: Shortcut | None = None) -> None:
    """Open the modal. Slack gives three seconds for it; where nobody may add, it says so instead."""
    user = body.get("user_id") or body["user"]["id"]
    language = await office.language_of(user)
    url = str(body.get("response_url") or "")
    place = office.place(channel or "")
    actor = await office.places.actor(user)
    audience = await office.places.audience(channel, user) if channel else None
    scopes: Sequence[str] = ()
    collections: Sequence[str] = ()
    if audience is not None:
        scopes = await office.desk.scopes(actor, place, audience)
        collections = await office.desk.collections(place, audience)
    else:
        collections = await office.desk.collections(place, home.TEAM_AUDIENCE)
    if actor.role == "outsider" or (channel and not scopes):
        if url:
            await office.slack.respond(url, text=_NOT_HERE.to(language))
        return
    view = ingest_modal(
        language, channel=channel, collections=collections, scopes=scopes, response_url=url, shortcut=used_on
    )
    try:
        await office.slack.open_view(body["trigger_id"], view)
    except SlackError as error:
        log.warning("a modal could not be opened: %s", error.code)


def _used_on(body: Json, office: Office) -> Shortcut:
    message, channel = body["message"], body["channel"]["id"]
    named = [
        {"id": str(file["id"]), "name": str(file.get("name") or file["id"])} for file in message.get("files") or ()
    ]
    text = readable(str(message.get("text") or ""), office.slack.me.user)
    thread = str(message.get("thread_ts") or message["ts"])
    return Shortcut(channel, str(message["ts"]), thread, text, tuple(named[:10]))


async def _take_text(office: Office, body: Json, text: str, language: Language) -> Intake | None:
    """`/ingest <link>` or `/ingest <text>`, with the defaults of its place. Raises RefusedError, StoreError."""
    user, channel = body["user_id"], body["channel_id"]
    claim = f"slack:{office.slack.me.team}:command:{body['trigger_id']}"
    if (target := link_target(text)) is not None:
        return await _take_message(office, user, claim, target, "", "", language)
    refs = (_pasted(text, "", language),)
    return await _take(office, user, claim, office.place(channel), None, refs, "", "", language)


async def _take_given(office: Office, user: str, view: Json, kept: Json, language: Language) -> Intake | None:
    """What a modal holds. Raises RefusedError, StoreError, RAGToolError."""
    filled = given(view, kept)
    claim = f"slack:{office.slack.me.team}:view:{view['id']}"
    if kept.get("message"):
        target = (str(kept["from"]), str(kept["message"]), str(kept["thread"]))
        return await _take_message(
            office, user, claim, target, filled.collection, filled.scope, language, filled.files, str(kept["text"])
        )
    refs = file_refs(filled.files)
    if filled.text:
        refs += (_pasted(filled.text, filled.name, language),)
    if filled.link:
        target_given = link_target(filled.link)
        if target_given is None:
            raise RefusedError(_NO_LINK)
        if not refs:
            return await _take_message(office, user, claim, target_given, filled.collection, filled.scope, language)
        raise RefusedError(_ONE_KIND)
    if not refs:
        raise RefusedError(_NOTHING, "files")
    place = office.place(filled.channel)
    if not kept.get("channel") and not await office.places.is_member(filled.channel, user):
        raise RefusedError(_NOT_YOURS, "channel")
    return await _take(office, user, claim, place, None, refs, filled.collection, filled.scope, language)


async def _take_message(
    office: Office,
    user: str,
    claim: str,
    target: tuple[str, str, str],
    collection: str,
    scope: str,
    language: Language,
    files: Sequence[Any] = (),
    words: str = "",
) -> Intake | None:
    """A message or thread, for those who read its own channel: nobody carries it out of there by a link."""
    channel, message, thread = target
    if not await office.places.is_member(channel, user):
        raise RefusedError(_NOT_YOURS)
    if not words:
        try:
            found = await office.slack.replies(channel, thread, limit=1_000)
        except SlackError:
            raise RefusedError(_NOT_YOURS) from None
        about = next((one for one in found if one.get("ts") == message), {})
        words = readable(str(about.get("text") or ""), office.slack.me.user)
        files = tuple(about.get("files") or ())
    refs = file_refs(files)
    link = office.slack.permalink(channel, message, thread)
    said = FileRef(
        thread_name(channel, words, language),
        {"channel": channel, "thread": thread, "message": message, "link": link},
    )
    refs = (said, *refs) if words or not refs else refs
    return await _take(office, user, claim, office.place(channel), thread, refs, collection, scope, language)


async def _take(
    office: Office,
    user: str,
    claim: str,
    place: Place,
    thread: str | None,
    refs: tuple[FileRef, ...],
    collection: str,
    scope: str,
    language: Language,
) -> Intake | None:
    actor = await office.places.actor(user)
    audience = await office.places.audience(place.channel, user)
    scopes = await office.desk.scopes(actor, place, audience)
    if not scopes:
        raise RefusedError(_NOT_HERE)
    chosen = scope if scope in scopes else scopes[0]
    into = collection or (await office.desk.collections(place, audience))[0]
    intake = Intake("", place, thread, user, into, chosen, language, refs)
    return await office.desk.take_in(claim, intake)


def _pasted(text: str, name: str, language: Language) -> FileRef:
    first = name or text.strip().splitlines()[0][:60].strip("# ").replace("/", "／") or _PASTED.to(language)
    return FileRef(first if first.endswith(".md") else f"{first}.md", {"text": text})
