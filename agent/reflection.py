"""The second look at a draft: the same model, in the same conversation, criticises it and may write it anew."""

import json
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.conversation import LANGUAGES, Ask
from agent.events import Verdict
from agent.models.base import Message, ModelError, ModelMessage, UserMessage
from agent.prompts import prompt

log = logging.getLogger(__name__)

Converse = Callable[[Sequence[Message]], Awaitable[ModelMessage]]
"""One call of the model for a reply in `SCHEMA`. Raises `ModelError` or TimeoutError."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "enum": ["keep", "revise", "reject"]},
        "critique": {"type": "string", "description": "One or two sentences: what is right or wrong with the draft."},
        "answer": {"type": "string", "description": "The whole corrected answer if the verdict is revise, else empty."},
    },
    "required": ["verdict", "critique"],
}

_VERDICTS: Mapping[str, Verdict] = {
    **dict.fromkeys(("keep", "ok", "pass", "good", "accept", "approve", "approved", "kept"), "keep"),
    **dict.fromkeys(("revise", "revised", "fix", "edit", "correct", "rewrite"), "revise"),
    **dict.fromkeys(("reject", "rejected", "fail", "discard", "no_answer"), "reject"),
}


@dataclass(frozen=True, slots=True)
class Review:
    """`answer` is the new text of a revision, else empty."""

    verdict: Verdict
    critique: str = ""
    answer: str = ""


async def reflect(
    converse: Converse, messages: Sequence[Message], ask: Ask, limit: int
) -> AsyncGenerator[Review, None]:
    """The reviews of the draft that `messages` end with: until one changes nothing, at most `limit`.

    A model that fails at this leaves the draft as it is; the check in code follows in any case.
    """
    conversation = list(messages)
    for round_ in range(limit):
        wanted = (
            prompt("review_again")
            if round_
            else prompt("review", question=ask.question[:2_000], language=LANGUAGES[ask.language])
        )
        conversation.append(UserMessage(wanted))
        try:
            message = await converse(conversation)
        except (ModelError, TimeoutError) as error:
            log.warning("the draft was not reviewed: %s", type(error).__name__)
            return
        review = parse_review(message.text)
        yield review
        if review.verdict != "revise":
            return
        conversation.append(message)


def parse_review(text: str) -> Review:
    """The review in a model's reply, whatever stands around it. What cannot be read keeps the draft: the check in code
    still follows."""
    for found in objects(text):
        verdict = _VERDICTS.get(str(found.get("verdict", "")).strip().lower())
        if verdict is None:
            continue
        critique, answer = _text(found.get("critique")), _text(found.get("answer"))
        if verdict == "revise" and not answer:
            return Review("keep", critique)
        return Review(verdict, critique, answer if verdict == "revise" else "")
    return Review("keep")


def objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object that begins somewhere in the text."""
    decoder = json.JSONDecoder(strict=False)
    at = text.find("{")
    tries = 0
    while at != -1 and tries < 50:
        tries += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                yield value
        at = text.find("{", end)


def _text(value: object) -> str:
    return (
        re.sub(r"^```(?:markdown)?\n(.*)\n```$", r"\1", value.strip(), flags=re.DOTALL)
        if isinstance(value, str)
        else ""
    )
