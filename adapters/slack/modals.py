"""The modal for adding to the knowledge: files, a text or a message, with the collection and who may read it.

Source: product.md §5; docs.slack.dev modals, file input element (at most 10 files).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters import adding
from adapters.markdown import shortened
from adapters.slack.widgets import CANCEL, Json, input_block, modal, plain, section
from retrieval.text import Language, Said

INGEST = "kotae_ingest"
TEXT_CHARACTERS = 3_000  # that Slack lets a field hold
OPTIONS = 100  # of a menu

_SUBMIT = Said(en="Add", ja="追加")
_LINK = Said(en="or a link to a message or thread", ja="またはメッセージ・スレッドへのリンク")
_WHERE = Said(en="Channel it belongs to", ja="追加先のチャンネル")
_WHERE_HINT = Said(en="Progress is shown there.", ja="進み具合はそのチャンネルに表示されます。")
_MESSAGE = Said(en="This message and its files will be added:", ja="このメッセージとファイルを追加します:")
_THREAD = Said(
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
class Kept:
    """What a modal was opened with. `channel`: where that was; empty: in nobody's channel."""

    channel: str = ""
    response_url: str = ""
    message: str = ""
    thread: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """What was filled in."""

    files: tuple[Mapping[str, Any], ...]
    text: str
    name: str
    link: str
    collection: str
    scope: str
    channel: str


def ingest_modal(
    language: Language,
    kept: Kept,
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
            input_block("files", adding.FILES.to(language), file, optional=True),
            input_block("text", adding.TEXT.to(language), text, optional=True),
            input_block("name", adding.TEXT_TITLE.to(language), name, optional=True),
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
    blocks.append(_select("collection", adding.COLLECTION.to(language), [(name, name) for name in collections]))
    new = {"type": "plain_text_input", "action_id": "new", "max_length": 80}
    blocks.append(input_block("new", adding.NEW_COLLECTION.to(language), new, optional=True))
    if kept.channel and scopes:
        readers = [(scope, adding.readers_of(scope, language)) for scope in scopes]
        blocks.append(_select("scope", adding.SCOPE.to(language), readers))
    metadata = json.dumps([kept.channel, kept.response_url, kept.message, kept.thread])
    return modal(INGEST, adding.TITLE.to(language), _SUBMIT.to(language), CANCEL.to(language), blocks, metadata)


def kept_in(view: Mapping[str, Any]) -> Kept:
    """What the application itself put into the modal when it was opened."""
    return Kept(*json.loads(view["private_metadata"]))


def given_in(view: Mapping[str, Any]) -> Given:
    """What a person put into it."""
    values = view["state"]["values"]

    def of(block: str, action: str | None = None) -> Mapping[str, Any]:
        return values.get(block, {}).get(action or block) or {}

    chosen = str((of("collection").get("selected_option") or {}).get("value") or "")
    return Given(
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
