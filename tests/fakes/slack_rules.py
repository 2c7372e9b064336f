"""What Slack takes for a message: text, blocks, chunks of a stream, metadata.

Limits are those of docs.slack.dev/reference/block-kit; those that are only measured by others name their source.
"""

import json
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from tests.fakes.slack_gate import Refused

Json = dict[str, Any]
MARKDOWN = 12_000  # characters of all markdown blocks of a message, and of one call's markdown_text
ALL_BLOCKS = 13_000  # Source: bolt-js #2509: 13,297 for one markdown block, about 125 less for each further block
A_BLOCK, A_PIECE = 125, 20  # bolt-js #2867: many pieces of rich text are refused from 11,341 characters on
STREAM_BYTES = 10_600  # Source: openclaw PR 143882: UTF-8, once a stream has both tasks and text
STREAM_TEXT = 40_000  # Source: agno PR 7219
TASKS = 50  # in one message; agno PR 7244, openclaw PR 143882
METADATA = 8_000
SESSION_TITLE = 200
SESSION = ("active", "processing", "suspended", "closed")
TABLE_CELLS = 10_000  # characters of all cells; vellum-assistant PR 36219


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MESSAGE_BLOCKS = _words(
    "section divider image actions context context_actions header markdown rich_text table task_card plan alert card "
    "container carousel file video input call"
)
_VIEW_BLOCKS = _words(
    "section divider image actions context header rich_text input video alert card container carousel"
)
_SELECTS = frozenset(
    f"{many}{kind}_select"
    for many in ("", "multi_")
    for kind in ("static", "external", "users", "conversations", "channels")
)
_CHOICES = _SELECTS | {"radio_buttons", "checkboxes", "datepicker", "timepicker", "datetimepicker"}
INPUTS = _CHOICES | {
    "plain_text_input", "rich_text_input", "email_text_input", "url_text_input", "number_input", "file_input",
}  # fmt: skip
_ACTIONS = _CHOICES | {"button", "overflow", "workflow_button"}
_ACCESSORIES = _ACTIONS | {"image"}
_RICH = frozenset({"rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote"})
_STATUSES = frozenset({"pending", "in_progress", "complete", "error"})
_PIPE_TABLE = re.compile(r"^\s*\|?.*\|.*\n\s*\|?\s*:?-{3,}:?\s*(?:\|\s*:?-{3,}:?\s*)+\|?\s*$", re.MULTILINE)


_PROPERTIES = {
    kind: _words(f"type {mine} {named}")
    for named, kinds in (
        (
            "block_id",
            {
                "section": "text fields accessory expand",
                "header": "text level",
                "divider": "",
                "context": "elements",
                "actions": "elements",
                "context_actions": "elements",
                "input": "label hint element optional dispatch_action",
                "markdown": "text",
                "rich_text": "elements",
                "plan": "title tasks",
                "task_card": "task_id title details output sources status",
            },
        ),
        (
            "action_id",
            {
                "button": "text value url style confirm accessibility_label agent_prompt agent_prompt_display "
                "visible_to_user_ids",
                "static_select": "options option_groups initial_option placeholder confirm focus_on_load",
                "radio_buttons": "options initial_option confirm focus_on_load",
                "checkboxes": "options initial_options confirm focus_on_load",
                "plain_text_input": "initial_value multiline min_length max_length dispatch_action_config placeholder "
                "focus_on_load",
                "file_input": "filetypes max_files",
                "conversations_select": "initial_conversation default_to_current_conversation response_url_enabled "
                "filter placeholder confirm focus_on_load",
                "feedback_buttons": "positive_button negative_button",
            },
        ),
        ("text", {"plain_text": "emoji", "mrkdwn": "verbatim"}),
    )
    for kind, mine in kinds.items()
}
"""What a block, an element or a text may have: Slack refuses one with anything else. Source: slack-go #612."""


def flag(value: Any) -> bool:
    return value in (True, 1, "1", "true", "True")


def with_ids(blocks: list[Json]) -> list[Json]:
    """Slack names the blocks that come without an id."""
    return [{"block_id": f"b{at}-{zlib.crc32(json.dumps(each).encode()):x}"} | each for at, each in enumerate(blocks)]


# -- messages -------------------------------------------------------------------------------------------------------


def check_message(blocks: Any, markdown: str) -> None:
    """Refuses what chat.postMessage, chat.update, chat.postEphemeral and chat.stopStream refuse."""
    if blocks is None:
        blocks = []
    if not isinstance(blocks, list) or not all(isinstance(each, dict) for each in blocks):
        raise Refused("invalid_blocks_format")
    if problems := list(_wrong_blocks(blocks, "/blocks", _MESSAGE_BLOCKS, most=50)):
        raise Refused.because("invalid_blocks", problems)
    tables = sum(each.get("type") == "table" for each in _nested(blocks))
    marked = [str(each["text"]) for each in _nested(blocks) if each.get("type") == "markdown"] + [markdown]
    if tables + sum(len(_PIPE_TABLE.findall(each)) for each in marked) > 1:
        raise Refused.because("invalid_attachments", ["only_one_table_allowed"])
    if sum(map(len, marked)) > MARKDOWN or _length(blocks) > ALL_BLOCKS:
        raise Refused("msg_blocks_too_long")


def check_attachments(attachments: Any) -> None:
    if attachments is None:
        return
    if not isinstance(attachments, list):
        raise Refused("invalid_attachments")
    if len(attachments) > 100:
        raise Refused("too_many_attachments")
    for each in attachments:
        check_message(each.get("blocks"), "")


def check_metadata(metadata: Any) -> None:
    if metadata is None or metadata == {}:
        return
    if not isinstance(metadata, dict) or not isinstance(metadata.get("event_payload"), dict):
        raise Refused("invalid_metadata_format")
    if not isinstance(metadata.get("event_type"), str) or not re.fullmatch(r"[\w.-]{1,255}", metadata["event_type"]):
        raise Refused("invalid_metadata_schema")
    if len(json.dumps(metadata)) > METADATA:
        raise Refused("metadata_too_large")


def _length(blocks: list[Json]) -> int:
    pieces = [each for each in _walk(blocks) if isinstance(each.get("text"), str)]
    rich = sum(each.get("type") in ("text", "link") for each in pieces)
    return sum(len(each["text"]) for each in pieces) + A_BLOCK * max(0, len(blocks) - 1) + A_PIECE * rich


def _walk(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _walk(each)
    elif isinstance(value, list):
        for each in value:
            yield from _walk(each)


def _nested(blocks: Iterable[Json]) -> Iterator[Json]:
    for each in blocks:
        yield each
        yield from _nested(each.get("child_blocks") or ())


# -- streams --------------------------------------------------------------------------------------------------------


def check_chunks(chunks: Any) -> None:
    if not isinstance(chunks, list):
        raise Refused("invalid_chunks")
    for each in chunks:
        match each.get("type") if isinstance(each, dict) else None:
            case "markdown_text":
                fine = isinstance(each.get("text"), str)
                if fine and len(each["text"]) > MARKDOWN:
                    raise Refused("msg_too_long")
            case "task_update":
                texts = [each.get(name) for name in ("id", "title")]
                fine = all(isinstance(text, str) and text for text in texts) and each.get("status") in _STATUSES
                fine = fine and all(isinstance(each.get(name, ""), str | None) for name in ("details", "output"))
                sources = each.get("sources") or []
                fine = fine and all(
                    source.get("type") == "url" and source.get("url") and source.get("text") for source in sources
                )
            case "plan_update":
                fine = isinstance(each.get("title"), str)
            case "blocks":
                check_message(each.get("blocks"), "")
                fine = True
            case _:
                fine = False
        if not fine:
            raise Refused("invalid_chunks")


def check_stream(parts: list[Json], plan: str, bottom: list[Json]) -> None:
    """The whole of a streamed message so far."""
    tasks = [each for each in parts if each["type"] == "task_update"]
    texts = [str(each["text"]) for each in parts if each["type"] == "markdown_text"]
    blocks = [each for each in parts if each["type"] not in ("task_update", "markdown_text")]
    if len(tasks) > TASKS or len(blocks) > 50:
        raise Refused("msg_blocks_too_many")
    text = "".join(texts)
    if len(text) > STREAM_TEXT or _length([*blocks, *bottom]) > ALL_BLOCKS:
        raise Refused("msg_too_long")
    if tasks and text:
        held = [text, plan, *(each["title"] for each in tasks)]
        twice = [each.get(name) or "" for each in tasks for name in ("details", "output")]
        if sum(len(each.encode()) for each in [*held, *twice, *twice]) > STREAM_BYTES:
            raise Refused("msg_too_long")


# -- blocks ---------------------------------------------------------------------------------------------------------


def check_view_blocks(blocks: Any) -> Iterator[str]:
    if not isinstance(blocks, list) or not blocks:
        yield "no blocks [json-pointer:/view/blocks]"
        return
    yield from _wrong_blocks(blocks, "/view/blocks", _VIEW_BLOCKS, most=100)


def _wrong_blocks(blocks: list[Json], at: str, known: frozenset[str], *, most: int) -> Iterator[str]:
    if len(blocks) > most:
        yield f"no more than {most} items allowed [json-pointer:{at}]"
    ids = [each["block_id"] for each in blocks if each.get("block_id")]
    if len(ids) != len(set(ids)):
        yield f"duplicate block_id [json-pointer:{at}]"
    kinds = {each.get("type") for each in blocks}
    if {"plan", "task_card"} <= kinds:  # GitLab !242201
        yield f"plan and task_card do not mix [json-pointer:{at}]"
    for number, block in enumerate(blocks):
        here = f"{at}/{number}"
        if block.get("type") not in known:
            yield f"unsupported type: {block.get('type')} [json-pointer:{here}/type]"
            continue
        if len(str(block.get("block_id", ""))) > 255:
            yield _too_long(255, f"{here}/block_id")
        yield from _wrong_block(block, here, known)
        inside = {name: value for name, value in block.items() if name != "child_blocks"}
        actions = [each["action_id"] for each in _walk(inside) if isinstance(each.get("action_id"), str)]
        if len(actions) != len(set(actions)):
            yield f"duplicate action_id [json-pointer:{here}]"


def _unknown(given: Json, at: str) -> Iterator[str]:
    for name in sorted(set(given) - _PROPERTIES.get(given["type"], frozenset(given))):
        yield f"additional property: {name} [json-pointer:{at}]"


def _wrong_block(block: Json, at: str, known: frozenset[str]) -> Iterator[str]:
    yield from _unknown(block, at)
    match block["type"]:
        case "section":
            if not block.get("text") and not block.get("fields"):
                yield f"must provide text or fields [json-pointer:{at}]"
            if block.get("text"):
                yield from _wrong_text(block["text"], f"{at}/text", 3_000)
            fields = block.get("fields") or []
            if len(fields) > 10:
                yield f"no more than 10 items allowed [json-pointer:{at}/fields]"
            for number, each in enumerate(fields):
                yield from _wrong_text(each, f"{at}/fields/{number}", 2_000)
            if block.get("accessory"):
                yield from _wrong_element(block["accessory"], f"{at}/accessory", _ACCESSORIES)
        case "header":
            yield from _wrong_text(block.get("text"), f"{at}/text", 150, plain=True)
        case "alert":
            yield from _wrong_text(block.get("text"), f"{at}/text", 3_000)
            if block.get("level", "default") not in ("default", "info", "warning", "error", "success"):
                yield f"invalid level [json-pointer:{at}/level]"
        case "markdown":
            if not isinstance(block.get("text"), str) or not block["text"]:
                yield f"missing required field: text [json-pointer:{at}]"
        case "actions":
            yield from _wrong_elements(block, at, 25, _ACTIONS)
        case "context":
            yield from _wrong_elements(block, at, 10, frozenset({"mrkdwn", "plain_text", "image"}))
        case "context_actions":
            yield from _wrong_elements(block, at, 5, frozenset({"feedback_buttons", "icon_button"}))
        case "image":
            if not (block.get("image_url") or block.get("slack_file")) or not block.get("alt_text"):
                yield f"missing required field [json-pointer:{at}]"
        case "input":
            yield from _wrong_text(block.get("label"), f"{at}/label", 2_000, plain=True)
            if block.get("hint"):
                yield from _wrong_text(block["hint"], f"{at}/hint", 2_000, plain=True)
            yield from _wrong_element(block.get("element"), f"{at}/element", INPUTS)
        case "rich_text":
            yield from _wrong_rich(block, at)
        case "table":
            yield from _wrong_table(block, at)
        case "task_card":
            if not block.get("task_id") or not block.get("title") or block.get("status", "pending") not in _STATUSES:
                yield f"invalid task_card [json-pointer:{at}]"
            for name in ("details", "output"):
                if block.get(name):
                    yield from _wrong_rich(block[name], f"{at}/{name}")
        case "plan":
            tasks = block.get("tasks") or []
            if not isinstance(block.get("title"), str) or len(tasks) > TASKS:
                yield f"invalid plan [json-pointer:{at}]"
            yield from _wrong_blocks(tasks, f"{at}/tasks", frozenset({"task_card"}), most=TASKS)
            if len({each.get("task_id") for each in tasks}) < len(tasks):
                yield f"duplicate task_id [json-pointer:{at}/tasks]"
        case "container":
            if not block.get("title") and not block.get("rich_text_title"):
                yield f"missing required field: title [json-pointer:{at}]"
            elif block.get("title"):
                yield from _wrong_text(block["title"], f"{at}/title", 150, plain=True)
            children = block.get("child_blocks")
            if not isinstance(children, list) or not children:
                yield f"missing required field: child_blocks [json-pointer:{at}]"
            else:
                yield from _wrong_blocks(children, f"{at}/child_blocks", known - {"container"}, most=10)
        case "card":
            for name, most in (("title", 150), ("subtitle", 150), ("body", 200)):
                if block.get(name):
                    yield from _wrong_text(block[name], f"{at}/{name}", most)
            if not any(block.get(name) for name in ("hero_image", "title", "actions", "body")):
                yield f"empty card [json-pointer:{at}]"
            for number, each in enumerate(block.get("actions") or ()):
                yield from _wrong_element(each, f"{at}/actions/{number}", _ACTIONS)
        case "carousel":
            yield from _wrong_blocks(block.get("elements") or [], f"{at}/elements", frozenset({"card"}), most=10)


def _wrong_elements(block: Json, at: str, most: int, known: frozenset[str]) -> Iterator[str]:
    elements = block.get("elements")
    if not isinstance(elements, list) or not elements:
        yield f"must provide at least 1 element [json-pointer:{at}/elements]"
        return
    if len(elements) > most:
        yield f"no more than {most} items allowed [json-pointer:{at}/elements]"
    for number, each in enumerate(elements):
        yield from _wrong_element(each, f"{at}/elements/{number}", known)


def _wrong_element(element: Any, at: str, known: frozenset[str]) -> Iterator[str]:
    kind = element.get("type") if isinstance(element, dict) else None
    if kind not in known:
        yield f"unsupported type: {kind} [json-pointer:{at}/type]"
        return
    yield from _unknown(element, at)
    for name, most in (("action_id", 255), ("value", 2_000), ("url", 3_000), ("accessibility_label", 75)):
        if isinstance(element.get(name), str) and not 0 < len(element[name]) <= most:
            yield _too_long(most, f"{at}/{name}")
    if element.get("placeholder"):
        yield from _wrong_text(element["placeholder"], f"{at}/placeholder", 150, plain=True)
    match kind:
        case "mrkdwn" | "plain_text":
            yield from _wrong_text(element, at, 3_000)
        case "button" | "icon_button" | "workflow_button":
            yield from _wrong_text(element.get("text"), f"{at}/text", 75, plain=True)
            if element.get("style") not in (None, "primary", "danger"):
                yield f"invalid style [json-pointer:{at}/style]"
            if kind == "icon_button" and not element.get("icon"):
                yield f"missing required field: icon [json-pointer:{at}]"
        case "feedback_buttons":
            for name in ("positive_button", "negative_button"):
                button = element.get(name)
                if not isinstance(button, dict) or not button.get("value"):
                    yield f"missing required field: {name} [json-pointer:{at}]"
                    continue
                yield from _wrong_text(button.get("text"), f"{at}/{name}/text", 75, plain=True)
                if len(button["value"]) > 2_000:
                    yield _too_long(2_000, f"{at}/{name}/value")
        case "overflow" | "static_select" | "multi_static_select" | "radio_buttons" | "checkboxes":
            yield from _wrong_options(
                element, at, {"overflow": 5, "radio_buttons": 10, "checkboxes": 10}.get(kind, 100)
            )
        case "plain_text_input":
            longest = int(element.get("max_length") or 3_000)
            if not 0 < longest <= 3_000:
                yield f"max_length out of range [json-pointer:{at}/max_length]"
            if len(element.get("initial_value") or "") > longest:
                yield _too_long(longest, f"{at}/initial_value")
        case "file_input" if not 1 <= int(element.get("max_files", 10)) <= 10:
            yield f"max_files out of range [json-pointer:{at}/max_files]"


def _wrong_options(element: Json, at: str, most: int) -> Iterator[str]:
    options = element.get("options")
    if options is None and element.get("option_groups"):
        options = [option for group in element["option_groups"] for option in group.get("options", ())]
    if not options:
        yield f"must provide options [json-pointer:{at}/options]"
        return
    if len(options) > most:
        yield f"no more than {most} items allowed [json-pointer:{at}/options]"
    for number, each in enumerate(options):
        yield from _wrong_text(each.get("text"), f"{at}/options/{number}/text", 75)
        if not each.get("value") or len(str(each["value"])) > 150:
            yield _too_long(150, f"{at}/options/{number}/value")
    for name in ("initial_option", "initial_options"):
        chosen = element.get(name, options[:1])
        if not chosen:
            yield f"must provide at least 1 item [json-pointer:{at}/{name}]"
        for each in chosen if isinstance(chosen, list) else [chosen]:
            if each not in options:  # text and all
                yield f"not one of the options [json-pointer:{at}/{name}]"


def _wrong_text(text: Any, at: str, most: int, *, plain: bool = False) -> Iterator[str]:
    kinds = ("plain_text",) if plain else ("plain_text", "mrkdwn")
    if not isinstance(text, dict) or text.get("type") not in kinds or not isinstance(text.get("text"), str):
        yield f"must be a {' or '.join(kinds)} object [json-pointer:{at}]"
    elif not text["text"]:
        yield f"must be more than 0 characters [json-pointer:{at}/text]"
    elif len(text["text"]) > most:
        yield _too_long(most, f"{at}/text")
    else:
        yield from _unknown(text, at)


def _wrong_rich(block: Any, at: str) -> Iterator[str]:
    elements = block.get("elements") if isinstance(block, dict) and block.get("type") == "rich_text" else None
    if not isinstance(elements, list):
        yield f"must be rich_text [json-pointer:{at}]"
        return
    for number, each in enumerate(elements):
        if each.get("type") not in _RICH or not isinstance(each.get("elements"), list):
            yield f"unsupported type: {each.get('type')} [json-pointer:{at}/elements/{number}/type]"
            continue
        for piece in _walk(each["elements"]):
            if piece.get("type") == "text" and not piece.get("text"):
                yield f"must be more than 0 characters [json-pointer:{at}/elements/{number}]"


def _wrong_table(block: Json, at: str) -> Iterator[str]:
    rows = block.get("rows")
    if not isinstance(rows, list) or not 1 <= len(rows) <= 100 or not all(isinstance(row, list) for row in rows):
        yield f"must have 1 to 100 rows [json-pointer:{at}/rows]"
        return
    if len(block.get("column_settings") or ()) > 20:
        yield f"no more than 20 items allowed [json-pointer:{at}/column_settings]"
    for number, row in enumerate(rows):
        if not 1 <= len(row) <= 20 or len(row) != len(rows[0]):
            yield f"invalid number of cells [json-pointer:{at}/rows/{number}]"
        for column, cell in enumerate(row):
            here = f"{at}/rows/{number}/{column}"
            match cell.get("type") if isinstance(cell, dict) else None:
                case "raw_text" | "raw_number":
                    if not cell.get("text"):
                        yield f"must be more than 0 characters [json-pointer:{here}/text]"
                case "rich_text":
                    yield from _wrong_rich(cell, here)
                case other:
                    yield f"unsupported type: {other} [json-pointer:{here}/type]"
    if sum(len(each["text"]) for each in _walk(rows) if isinstance(each.get("text"), str)) > TABLE_CELLS:
        yield f"too many characters in the cells [json-pointer:{at}/rows]"


def _too_long(most: int, at: str) -> str:
    return f"must be less than {most + 1} characters [json-pointer:{at}]"
