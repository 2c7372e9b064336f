"""What people would see of a Slack message, whom it would ping, and what would become a link.

Each walks a message's blocks, its streamed parts and its text. They read more generously than Slack does: a mention
inside a code span counts, since whether Slack leaves it alone differs by surface and is written down nowhere.
"""

import html
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

Json = dict[str, Any]
Dialect = Literal["mrkdwn", "verbatim", "markdown", "plain"]

_BARS = ("actions", "context_actions")
_SPECIAL = re.compile(r"<([@#!][^>\n]*)>")
_MRKDWN_LINK = re.compile(r"<((?:https?|mailto|slack|tel|ftp)[^>|\n]*)(?:\|([^>\n]*))?>", re.IGNORECASE)
_BARE_URL = re.compile(r"(?:https?://|www\.|mailto:|ftp://|slack://)[^\s<>|\"'`)\]]+", re.IGNORECASE)
_MARKDOWN_LINK = re.compile(r"!?\[([^\]\n]*)\]\(\s*<?([^)\s>]+)[^)\n]*\)")
_REFERENCE = re.compile(r"^\s{0,3}\[[^\]\n]+\]:\s*<?(\S+?)>?(?:\s|$)", re.MULTILINE)
_DOMAIN = re.compile(
    r"(?<![\w@./:-])(?:[\w-]+\.)+(?:com|net|org|io|dev|jp|co|ai|app|me|sh|rs|md|py|info|biz|xyz|page|zip)(?![\w-])",
    re.IGNORECASE,
)
_NAMED = re.compile(r"(?<![\w@])@(channel|here|everyone|[a-z0-9][\w.-]*)", re.IGNORECASE)


def shown(parts: Iterable[Json], text: str, markdown: str = "") -> str:
    """Without the labels of buttons and menus."""
    pieces = [
        _plain(piece, dialect) for piece, dialect in _texts(each for each in parts if each.get("type") not in _BARS)
    ]
    if not pieces:
        pieces = [_plain(markdown, "markdown") if markdown else _plain(text, "mrkdwn")]
    return "\n".join(piece for piece in pieces if piece)


def pings(parts: Iterable[Json], text: str, markdown: str = "", *, by_name: bool = False) -> list[str]:
    """Ids, `here`, `channel`, `everyone`, `subteam^…`; in blocks and in the text of the notification alike."""
    parts = list(parts)
    found = [mention for block in parts for mention in _rich_pings(block)]
    for piece, dialect in [*_texts(parts), (text, "mrkdwn"), (markdown, "markdown")]:
        if dialect == "plain":
            continue
        for special in _SPECIAL.findall(piece):
            if special[0] in "@!" and not special.startswith("!date"):
                found.append(special[1:].split("|")[0])
        if by_name:
            found += _NAMED.findall(_SPECIAL.sub(" ", piece))
    return list(dict.fromkeys(found))


def links(parts: Iterable[Json], text: str, markdown: str = "") -> list[str]:
    """Addresses people could press or Slack could fetch, of buttons, images and sources too."""
    parts = list(parts)
    found = [url for block in parts for url in _linked(block)]
    for piece, dialect in [*_texts(parts), (text, "mrkdwn"), (markdown, "markdown")]:
        if dialect == "plain":
            continue
        if dialect == "markdown":
            found += [html.unescape(url) for _, url in _MARKDOWN_LINK.findall(piece)]
            found += _REFERENCE.findall(piece)
            piece = _MARKDOWN_LINK.sub(r" \1 ", piece)
        found += [html.unescape(url) for url, _ in _MRKDWN_LINK.findall(piece)]
        found += [html.unescape(url) for url in _BARE_URL.findall(_MRKDWN_LINK.sub(r" \2 ", piece))]
    return list(dict.fromkeys(found))


def loose_domains(parts: Iterable[Json], text: str, markdown: str = "", *, unparsed: bool = False) -> list[str]:
    pieces = [*_texts(parts), *((text, "mrkdwn") for _ in range(0 if unparsed else 1)), (markdown, "markdown")]
    found: list[str] = []
    for piece, dialect in pieces:
        if dialect not in ("plain", "verbatim"):
            rest = _BARE_URL.sub(" ", _MRKDWN_LINK.sub(" ", _MARKDOWN_LINK.sub(r" \1 ", piece)))
            found += _DOMAIN.findall(rest)
    return list(dict.fromkeys(found))


def pressable(blocks: Iterable[Json]) -> list[str]:
    return [str(each["action_id"]) for block in blocks for each in _walk(block) if "action_id" in each]


def streamed(parts: Iterable[Json], plan: str, display: str) -> list[Json]:
    """A stream's parts as the API reads them back: rich text, and task cards or one plan of them."""
    made: list[Json] = []
    tasks: list[Json] = []
    for part in parts:
        match part["type"]:
            case "markdown_text":
                made.append(_as_rich(_plain(part["text"], "markdown")))
            case "task_update":
                card = {"type": "task_card", "task_id": part["id"], "title": part["title"], "status": part["status"]}
                card |= {name: _as_rich(part[name]) for name in ("details", "output") if part.get(name)}
                card |= {"sources": part["sources"]} if part.get("sources") else {}
                if display == "plan" and not tasks:
                    made.append({"type": "plan", "title": plan, "tasks": tasks})
                (tasks if display == "plan" else made).append(card)
            case _:
                made.append(part)
    return made


def _as_rich(text: str) -> Json:
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [section]}


def _texts(parts: Iterable[Json]) -> Iterator[tuple[str, Dialect]]:
    """Every text of the blocks in reading order. Rich text comes flattened, as plain text: it pings by its elements."""
    for block in parts:
        match block.get("type"):
            case "markdown_text" | "markdown":
                yield str(block.get("text", "")), "markdown"
            case "section":
                yield from _object(block.get("text"))
                for each in block.get("fields", ()):
                    yield from _object(each)
                yield from _element(block.get("accessory"))
            case "header" | "alert":
                yield from _object(block.get("text"))
            case "context" | "actions" | "context_actions" | "carousel":
                for each in block.get("elements", ()):
                    yield from _element(each)
            case "card":
                for name in ("title", "subtitle", "body"):
                    yield from _object(block.get(name))
                for each in block.get("actions", ()):
                    yield from _element(each)
            case "container":
                for name in ("title", "subtitle"):
                    yield from _object(block.get(name))
                yield from _texts(block.get("child_blocks", ()))
            case "rich_text":
                yield _flat(block), "plain"
            case "table":
                for row in block.get("rows", ()):
                    yield " | ".join(_flat(cell) for cell in row), "plain"
            case "image":
                yield str(block.get("alt_text", "")), "plain"
            case "input":
                yield from _object(block.get("label"))
                yield from _object(block.get("hint"))
            case "plan":
                yield str(block.get("title", "")), "plain"
                yield from _texts(block.get("tasks", ()))
            case "task_card" | "task_update" | None if "title" in block:
                yield str(block["title"]), "plain"
                for name in ("details", "output"):
                    value = block.get(name)
                    if isinstance(value, str):
                        yield value, "markdown"
                    elif value:
                        yield _flat(value), "plain"
                for source in block.get("sources") or ():
                    yield str(source.get("text", "")), "plain"
            case "blocks":
                yield from _texts(block.get("blocks", ()))


def _object(value: Any) -> Iterator[tuple[str, Dialect]]:
    if isinstance(value, dict):
        dialect: Dialect = "verbatim" if value.get("verbatim") else "mrkdwn"
        yield str(value.get("text", "")), dialect if value.get("type") == "mrkdwn" else "plain"


def _element(value: Any) -> Iterator[tuple[str, Dialect]]:
    if not isinstance(value, dict):
        return
    match value.get("type"):
        case "mrkdwn" | "plain_text":
            yield from _object(value)
        case "feedback_buttons":
            yield from _object(value.get("positive_button", {}).get("text"))
            yield from _object(value.get("negative_button", {}).get("text"))
        case "card":
            yield from _texts((value,))
        case _:
            yield from _object(value.get("text"))
            yield from _object(value.get("placeholder"))
            for option in value.get("options", ()):
                yield from _object(option.get("text"))


def _flat(rich: Json) -> str:
    """Rich text, or a table's cell, as plain text."""
    if rich.get("type") in ("raw_text", "raw_number"):
        return str(rich.get("text", rich.get("value", "")))
    told = []
    for element in rich.get("elements", ()):
        match element.get("type"):
            case "text" | "link":
                told.append(str(element.get("text") or element.get("url", "")))
            case "user" | "usergroup" | "channel" | "broadcast":
                told.append("@" + str(next((v for k, v in element.items() if k != "type"), "")))
            case "emoji":
                told.append(f":{element.get('name')}:")
            case "rich_text_list":
                told.append("\n".join(f"• {_flat(item)}" for item in element.get("elements", ())))
            case _:
                told.append(_flat(element))
    separator = "\n" if rich.get("type") in ("rich_text",) else ""
    return separator.join(told)


def _walk(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _walk(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _walk(each)


def _rich_pings(block: Json) -> Iterator[str]:
    for each in _walk(block):
        match each.get("type"):
            case "user" if "user_id" in each:
                yield str(each["user_id"])
            case "usergroup" if "usergroup_id" in each:
                yield f"subteam^{each['usergroup_id']}"
            case "broadcast":
                yield str(each.get("range", ""))


def _linked(block: Json) -> Iterator[str]:
    for each in _walk(block):
        for name in ("url", "image_url", "title_url", "thumb_url", "video_url"):
            if isinstance(each.get(name), str):
                yield each[name]


def _plain(text: str, dialect: Dialect) -> str:
    if dialect == "plain":
        return text
    if dialect == "markdown":
        text = _MARKDOWN_LINK.sub(r"\1", text)
        text = re.sub(r"(?<!\\)\*\*([^*\n]+)\*\*", r"\1", text)
        text = re.sub(r"^#{1,6}\s+", "", text, flags=re.MULTILINE)
        text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)
    else:
        text = re.sub(r"(?<![\w*])\*([^*\n]+)\*(?![\w*])", r"\1", text)
    text = _MRKDWN_LINK.sub(lambda found: found[2] or found[1], text)
    text = _SPECIAL.sub(lambda found: "@" + found[1].lstrip("@#!").split("|")[-1], text)
    return html.unescape(text)
