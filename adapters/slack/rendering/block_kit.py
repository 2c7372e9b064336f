"""Slack's Block Kit: widgets in small parts, the buttons under an answer, a card that only its reader sees, and the
modal for adding to the knowledge; what is said to one person, and a message that is said once, whatever happens
meanwhile.

Source: docs.slack.dev/reference/block-kit for the lengths, modals, file input element (at most 10 files); product.md
§5."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adapters.markdown.events import shortened
from adapters.shared import asking, ingestion
from adapters.shared.digest_cards import LISTED
from adapters.shared.feedback import DOWN, UP, Vote
from adapters.slack.context import SlackContext
from adapters.slack.rendering.mrkdwn import escaped
from adapters.slack.transport.errors import SlackError
from adapters.slack.transport.idempotency import Mark
from bot.types import Card, CardRow, Link, Post
from retrieval.i18n import Language, Text

log = logging.getLogger(__name__)

Json = dict[str, Any]

ANSWER = "kotae_answer"
CLOSE = Text(en="Close", ja="閉じる")
CANCEL = Text(en="Cancel", ja="キャンセル")


async def say_once(context: SlackContext, post: Post, *, text: str, blocks: Sequence[Json] = ()) -> Post:
    """Post it, unless it is there already; with its message's id. Raises SlackError, StoreError. Source: R6."""
    before = await context.bot.outbox.reserve(post)
    if before is not None and before.message is not None:
        return before
    return await say(context, post, text=text, blocks=blocks, maybe_sent=before is not None)


async def say(
    context: SlackContext, post: Post, *, text: str, blocks: Sequence[Json] = (), maybe_sent: bool = False
) -> Post:
    """Post what was written down before. Raises SlackError, StoreError."""
    mark = Mark(post.about, post.kind, post.part)
    ts = await context.slack.post(
        post.place.channel, text=text, blocks=blocks, thread=post.thread, mark=mark, maybe_sent=maybe_sent
    )
    return await context.bot.outbox.posted(replace(post, message=ts))


async def whisper(
    context: SlackContext,
    channel: str,
    user: str,
    text: str,
    thread: str | None = None,
    offer: Json | None = None,
    blocks: Sequence[Json] = (),
) -> None:
    """Say something to one person, with a button if there is an `offer`. Never raises: whoever cannot be told has
    left."""
    if offer:
        blocks = [section(text), {"type": "actions", "elements": [offer]}]
    try:
        await context.slack.ephemeral(channel, user, text=escaped(text), blocks=blocks, thread=thread)
    except SlackError as error:
        log.info("somebody could not be told something: %s", error.code)


async def respond(
    context: SlackContext, url: str, channel: str, user: str, text: str, blocks: Sequence[Json] = ()
) -> None:
    """Answer a gesture at its response_url, which is good for half an hour; else in its channel, also where only its
    author sees it: twice is better than not at all. Never raises."""
    try:
        await context.slack.respond(url, text=escaped(text), blocks=blocks)
    except SlackError as error:
        log.warning("a command is answered by a whisper: %s", error.code)
        await whisper(context, channel, user, text, blocks=blocks)


def plain(text: str, limit: int = 3_000) -> Json:
    """Text that Slack shows as it is: no mention, no link and no emoji comes out of what people wrote."""
    return {"type": "plain_text", "text": shortened(text, limit) or " ", "emoji": False}


def section(text: str) -> Json:
    return {"type": "section", "text": plain(text)}


def context_block(*texts: str) -> Json:
    """Small print; at most ten texts."""
    return {"type": "context", "elements": [plain(text) for text in texts[:10]]}


def button(text: str, action: str, value: str, **more: Any) -> Json:
    return {"type": "button", "text": plain(text, 75), "action_id": action, "value": value, **more}


def input_block(block: str, label: str, element: Mapping[str, Any], *, optional: bool = False, hint: str = "") -> Json:
    """A field of a modal; its value is found under `block` and the element's action_id."""
    shown: Json = {
        "type": "input",
        "block_id": block,
        "label": plain(label, 2_000),
        "element": dict(element),
        "optional": optional,
    }
    return shown | {"hint": plain(hint, 2_000)} if hint else shown


def modal(callback: str, title: str, submit: str, close: str, blocks: Sequence[Json], metadata: str = "") -> Json:
    """A view for `views.open`, with fields to fill in."""
    titles = {name: plain(text, 24) for name, text in (("title", title), ("submit", submit), ("close", close))}
    return {
        "type": "modal",
        "callback_id": callback,
        **titles,
        "blocks": list(blocks),
        "private_metadata": metadata,
    }


def notice_modal(text: str, language: Language) -> Json:
    """A view that only says something."""
    return {
        "type": "modal",
        "title": plain("Kotae", 24),
        "close": plain(CLOSE.to(language), 24),
        "blocks": [section(text)],
    }


ASK, CHOOSE = "kotae_ask", "kotae_ask_choice"  # a person; and exactly that one, or now


def ask_person(turn: str, language: Language) -> Json:
    """The button under an answer that the bot is not sure of."""
    return {"type": "actions", "elements": [button(asking.LABEL.to(language), ASK, turn)]}


VOTE = "kotae_vote"  # the action, of both forms; plain buttons add ":up" and ":down", as ids within a block are unique

_UP_ALOUD = Text(en="This answer was helpful", ja="この回答は役に立った")
_DOWN_ALOUD = Text(en="This answer was not helpful", ja="この回答は役に立たなかった")


def feedback(turn: str, language: Language) -> dict[str, Any]:
    """Slack's own pair of thumbs. Source: docs.slack.dev feedback_buttons element."""
    up, down = _thumbs(turn, language)
    element = {"type": "feedback_buttons", "action_id": VOTE, "positive_button": up, "negative_button": down}
    return {"type": "context_actions", "elements": [element]}


def plain_feedback(turn: str, language: Language) -> dict[str, Any]:
    """The same as ordinary buttons, for where Slack does not know the others."""
    up, down = _thumbs(turn, language, "👍 ", "👎 ")
    buttons = [
        {"type": "button", "action_id": f"{VOTE}:up"} | up,
        {"type": "button", "action_id": f"{VOTE}:down"} | down,
    ]
    return {"type": "actions", "elements": buttons}


def _thumbs(turn: str, language: Language, up: str = "", down: str = "") -> list[dict[str, Any]]:
    return [
        {
            "text": {"type": "plain_text", "text": f"{thumb}{text.to(language)}"},
            "accessibility_label": aloud.to(language),
            "value": f"{turn}:{vote}",
        }
        for vote, text, aloud, thumb in (("up", UP, _UP_ALOUD, up), ("down", DOWN, _DOWN_ALOUD, down))
    ]


def voted(value: str) -> tuple[str, Vote] | None:
    """A pressed button's value as the turn and the vote; None: it is not one of these."""
    turn, _, pressed = value.rpartition(":")
    vote: Vote | None = "up" if pressed == "up" else "down" if pressed == "down" else None
    return (turn, vote) if turn and vote else None


WEIGHT = 11_000  # characters of all blocks; Source: reliability.md R29, bolt-js #2509
BLOCK_WEIGHT = 125  # that each block counts for
ROWS = 20  # at most 2 blocks each, of 50


def card_blocks(card: Card) -> tuple[str, list[Json]]:
    """Plain text for where blocks are not shown, and the blocks; rows for which there is no room are counted."""
    blocks: list[Json] = [{"type": "header", "text": plain(card.title, 150)}]
    if card.lines:
        blocks.append(section("\n".join(card.lines)))
    weight = sum(map(_weight, blocks)) + sum(map(len, card.foot))
    foot = list(card.foot)
    for number, row in enumerate(card.rows):
        drawn = _row(row)
        weight += sum(map(_weight, drawn))
        if number >= ROWS or weight > WEIGHT:
            foot.insert(0, f"… +{len(card.rows) - number}")
            break
        blocks += drawn
    if foot:
        blocks.append(context_block("\n".join(foot)))
    return card.title, blocks


def _row(row: CardRow) -> list[Json]:
    """A row of a list; of its actions the answer, which any card can be opened for."""
    text = section(shortened(row.text, 600))
    for action in row.actions:
        if action.kind == "answer":
            text["accessory"] = button(action.text, ANSWER, f"{LISTED}:{action.reference}")
    elements: list[Json] = [plain(detail, 300) for detail in row.details[:9]]
    if row.web_links:
        links = " · ".join(map(_link, row.web_links[:5]))
        if len(links) <= 3_000:
            elements.append({"type": "mrkdwn", "text": links, "verbatim": True})
    return [text, *([{"type": "context", "elements": elements}] if elements else [])]


def _link(link: Link) -> str:
    return f"<{escaped(link.url).replace('|', '%7C')}|{escaped(link.text)}>"


def _weight(block: Json) -> int:
    texts = [block["text"]] if "text" in block else block["elements"]
    return BLOCK_WEIGHT + sum(len(text["text"]) for text in texts)


INGEST = "kotae_ingest"
TEXT_CHARACTERS = 3_000  # that Slack lets a field hold
OPTIONS = 100  # of a menu

_SUBMIT = Text(en="Add", ja="追加")
_LINK = Text(en="or a link to a message or thread", ja="またはメッセージ・スレッドへのリンク")
_WHERE = Text(en="Channel it belongs to", ja="追加先のチャンネル")
_WHERE_HINT = Text(en="Progress is shown there.", ja="進み具合はそのチャンネルに表示されます。")
_MESSAGE = Text(en="This message and its files will be added:", ja="このメッセージとファイルを追加します:")
_THREAD = Text(
    en="This message with its replies, and its files, will be added:",
    ja="このメッセージと返信、ファイルを追加します:",
)


@dataclass(frozen=True, slots=True)
class Shortcut:
    """The message that a shortcut was used on. `text` and the files' names are for showing it."""

    message: str
    thread: str
    text: str
    files: tuple[str, ...]
    replies: bool


@dataclass(frozen=True, slots=True)
class ModalState:
    """The values a modal was opened with. `channel`: where that was; empty: in nobody's channel, then `direct` is where
    its author is told of it."""

    channel: str = ""
    response_url: str = ""
    message: str = ""
    thread: str = ""
    direct: str = ""


@dataclass(frozen=True, slots=True)
class ModalInput:
    """The values filled in."""

    files: tuple[Mapping[str, Any], ...]
    text: str
    name: str
    link: str
    collection: str
    scope: str
    channel: str


def ingest_modal(
    language: Language,
    kept: ModalState,
    *,
    collections: Sequence[str],
    scopes: Sequence[str] = (),
    shortcut: Shortcut | None = None,
) -> Json:
    """Without `kept.channel` it is asked for. The first collection and the first scope are chosen already."""
    blocks: list[Json] = []
    if shortcut is not None:
        about = _THREAD if shortcut.replies else _MESSAGE
        shown = "\n".join((shortened(shortcut.text, 500), *(shortened(name, 100) for name in shortcut.files))).strip()
        blocks.append(section(f"{about.to(language)}\n\n{shown}"))
    else:
        file = {"type": "file_input", "action_id": "files", "max_files": 10}
        text = {"type": "plain_text_input", "action_id": "text", "multiline": True, "max_length": TEXT_CHARACTERS}
        name = {"type": "plain_text_input", "action_id": "name", "max_length": 100}
        link = {"type": "plain_text_input", "action_id": "link", "max_length": 500}
        blocks += [
            input_block("files", ingestion.FILES.to(language), file, optional=True),
            input_block("text", ingestion.TEXT.to(language), text, optional=True),
            input_block("name", ingestion.TEXT_TITLE.to(language), name, optional=True),
            input_block("link", _LINK.to(language), link, optional=True),
        ]
    if not kept.channel:
        where = {
            "type": "conversations_select",
            "action_id": "channel",
            "filter": {
                "include": ["public", "private"],
                "exclude_bot_users": True,
                "exclude_external_shared_channels": True,
            },
        }
        blocks.append(input_block("channel", _WHERE.to(language), where, hint=_WHERE_HINT.to(language)))
    blocks.append(_select("collection", ingestion.COLLECTION.to(language), [(name, name) for name in collections]))
    new = {"type": "plain_text_input", "action_id": "new", "max_length": 80}
    blocks.append(input_block("new", ingestion.NEW_COLLECTION.to(language), new, optional=True))
    if kept.channel and scopes:
        readers = [(scope, ingestion.readers_of(scope, language)) for scope in scopes]
        blocks.append(_select("scope", ingestion.SCOPE.to(language), readers))
    metadata = json.dumps([kept.channel, kept.response_url, kept.message, kept.thread, kept.direct])
    return modal(INGEST, ingestion.TITLE.to(language), _SUBMIT.to(language), CANCEL.to(language), blocks, metadata)


def kept_in(view: Mapping[str, Any]) -> ModalState:
    """The application's own values, put into the modal when it was opened."""
    return ModalState(*json.loads(view["private_metadata"]))


def given_in(view: Mapping[str, Any]) -> ModalInput:
    """A person's values in it."""
    values = view["state"]["values"]

    def of(block: str, action: str | None = None) -> Mapping[str, Any]:
        return values.get(block, {}).get(action or block) or {}

    chosen = str((of("collection").get("selected_option") or {}).get("value") or "")
    return ModalInput(
        files=tuple(of("files").get("files") or ()),
        text=str(of("text").get("value") or "").strip(),
        name=str(of("name").get("value") or "").strip(),
        link=str(of("link").get("value") or "").strip(),
        collection=str(of("new").get("value") or "").strip() or chosen,
        scope=str((of("scope").get("selected_option") or {}).get("value") or ""),
        channel=str(of("channel").get("selected_conversation") or ""),
    )


def _select(block: str, label: str, choices: Sequence[tuple[str, str]]) -> Json:
    """A menu with its first choice chosen. A value that would have to be cut would be another one: it is left out."""
    options = [{"text": plain(shown, 75), "value": value} for value, shown in choices if len(value) <= 150]
    element = {"type": "static_select", "action_id": block, "options": options[:OPTIONS], "initial_option": options[0]}
    return input_block(block, label, element)
