"""The modal for adding to the knowledge: files, a text or a message, with the collection and who may read it.

Source: product.md §5; docs.slack.dev modals, file input element (at most 10 files).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.slack.widgets import Json, input_block, modal, plain, shortened
from retrieval.text import Language, Said
from retrieval.types import EVERYONE, TEAM

INGEST = "kotae_ingest"
TEXT_CHARACTERS = 3_000  # that Slack lets a field hold

_TITLE = Said(en="Add to knowledge", ja="ナレッジに追加")
_SUBMIT, _CLOSE = Said(en="Add", ja="追加"), Said(en="Cancel", ja="キャンセル")
_FILES = Said(en="Files", ja="ファイル")
_TEXT = Said(en="or a text", ja="またはテキスト")
_NAME = Said(en="Title of the text", ja="テキストのタイトル")
_LINK = Said(en="or a link to a message or thread", ja="またはメッセージ・スレッドへのリンク")
_COLLECTION = Said(en="Collection", ja="コレクション")
_NEW = Said(en="or a new collection", ja="または新しいコレクション")
_SCOPE = Said(en="Who may find it", ja="検索できる人")
_WHERE = Said(en="Channel it belongs to", ja="追加先のチャンネル")
_WHERE_HINT = Said(en="Progress is shown there.", ja="進み具合はそのチャンネルに表示されます。")
_MESSAGE = Said(en="This message and its files will be added:", ja="このメッセージとファイルを追加します:")
_READERS = {
    TEAM: Said(en="Everyone in the team", ja="チームの全員"),
    EVERYONE: Said(en="Everyone, guests and partners too", ja="ゲストや社外を含む全員"),
}
_HERE = Said(en="Members of this channel only", ja="このチャンネルのメンバーのみ")


@dataclass(frozen=True, slots=True)
class Shortcut:
    """The message that a shortcut was used on."""

    channel: str
    message: str
    thread: str
    text: str
    files: tuple[Mapping[str, str], ...]  # id and name


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
    *,
    channel: str | None,
    collections: Sequence[str],
    scopes: Sequence[str],
    response_url: str = "",
    shortcut: Shortcut | None = None,
) -> Json:
    """`channel` None: it is asked for. The first collection and the first scope are chosen already."""
    blocks: list[Json] = []
    if shortcut is not None:
        names = [file["name"] for file in shortcut.files]
        shown = "\n".join((shortened(shortcut.text, 500), *names)).strip()
        blocks.append({"type": "section", "text": plain(f"{_MESSAGE.to(language)}\n\n{shown}")})
    else:
        file = {"type": "file_input", "action_id": "files", "max_files": 10}
        text = {"type": "plain_text_input", "action_id": "text", "multiline": True, "max_length": TEXT_CHARACTERS}
        name = {"type": "plain_text_input", "action_id": "name", "max_length": 100}
        link = {"type": "plain_text_input", "action_id": "link", "max_length": 500}
        blocks += [
            input_block("files", _FILES.to(language), file, optional=True),
            input_block("text", _TEXT.to(language), text, optional=True),
            input_block("name", _NAME.to(language), name, optional=True),
            input_block("link", _LINK.to(language), link, optional=True),
        ]
    if channel is None:
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
    blocks.append(_select("collection", _COLLECTION.to(language), [(name, name) for name in collections[:100]]))
    new = {"type": "plain_text_input", "action_id": "new", "max_length": 80}
    blocks.append(input_block("new", _NEW.to(language), new, optional=True))
    if channel is not None and len(scopes) > 0:
        readers = [(scope, _READERS.get(scope, _HERE).to(language)) for scope in scopes]
        blocks.append(_select("scope", _SCOPE.to(language), readers))
    kept: Json = {"channel": channel, "url": response_url}
    if shortcut is not None:
        kept |= {
            "message": shortcut.message,
            "thread": shortcut.thread,
            "from": shortcut.channel,
            "text": shortened(shortcut.text, 100),
            "files": [dict(file) for file in shortcut.files],
        }
    metadata = json.dumps(kept, ensure_ascii=False)
    return modal(INGEST, _TITLE.to(language), _SUBMIT.to(language), _CLOSE.to(language), blocks, metadata)


def given(view: Mapping[str, Any], kept: Mapping[str, Any]) -> Given:
    """What a submitted modal holds; `kept` is what was put into it when it was opened."""
    values = view["state"]["values"]

    def of(block: str, action: str | None = None) -> Mapping[str, Any]:
        return values.get(block, {}).get(action or block) or {}

    chosen = str((of("collection").get("selected_option") or {}).get("value") or "")
    return Given(
        files=tuple(of("files").get("files") or kept.get("files") or ()),
        text=str(of("text").get("value") or "").strip(),
        name=str(of("name").get("value") or "").strip(),
        link=str(of("link").get("value") or "").strip(),
        collection=str(of("new").get("value") or "").strip() or chosen,
        scope=str((of("scope").get("selected_option") or {}).get("value") or ""),
        channel=str(of("channel").get("selected_conversation") or kept.get("channel") or ""),
    )


def _select(block: str, label: str, choices: Sequence[tuple[str, str]]) -> Json:
    options = [{"text": plain(shown, 75), "value": shortened(value, 150)} for value, shown in choices]
    element = {"type": "static_select", "action_id": block, "options": options, "initial_option": options[0]}
    return input_block(block, label, element)
