"""Slack's widgets in small parts, and a message outside of any turn that is said once, whatever happens meanwhile."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from adapters.slack.client import Mark
from adapters.slack.office import Office
from bot.messages import Post

Json = dict[str, Any]


async def say_once(office: Office, post: Post, *, text: str, blocks: Sequence[Json] = ()) -> Post:
    """Post it, unless it is there already; with its message's id. Raises SlackError. Source: reliability.md R6."""
    before = await office.desk.intend(post)
    if before is not None and before.message is not None:
        return before
    mark = Mark(post.about, post.kind, post.part)
    ts = await office.slack.post(
        post.place.channel, text=text, blocks=blocks, thread=post.thread, mark=mark, maybe_sent=before is not None
    )
    posted = replace(post, message=ts)
    await office.desk.placed(posted)
    return posted


def plain(text: str, limit: int = 3_000) -> Json:
    """Text that Slack shows as it is: no mention, no link and no emoji comes out of what people wrote."""
    return {"type": "plain_text", "text": shortened(text, limit) or " ", "emoji": False}


def section(text: str) -> Json:
    return {"type": "section", "text": plain(text)}


def shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def button(text: str, action: str, value: str, **more: Any) -> Json:
    return {
        "type": "button",
        "text": {"type": "plain_text", "text": shortened(text, 75)},
        "action_id": action,
        "value": value,
        **more,
    }


def input_block(block: str, label: str, element: Mapping[str, Any], *, optional: bool = False, hint: str = "") -> Json:
    """A field of a modal; its value is found under `block` and the element's action_id."""
    shown: Json = {
        "type": "input",
        "block_id": block,
        "label": {"type": "plain_text", "text": shortened(label, 2_000)},
        "element": dict(element),
        "optional": optional,
    }
    if hint:
        shown["hint"] = {"type": "plain_text", "text": shortened(hint, 2_000)}
    return shown


def modal(callback: str, title: str, submit: str, close: str, blocks: Sequence[Json], metadata: str = "") -> Json:
    """A view for `views.open`. Slack takes 24 characters for a title and for each button."""
    return {
        "type": "modal",
        "callback_id": callback,
        "title": {"type": "plain_text", "text": shortened(title, 24)},
        "submit": {"type": "plain_text", "text": shortened(submit, 24)},
        "close": {"type": "plain_text", "text": shortened(close, 24)},
        "blocks": list(blocks),
        "private_metadata": metadata,
    }
