"""The second look at a draft: the model criticises it, told what the check in code has found, and may rewrite it."""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent.conversation import LANGUAGES, Ask
from agent.events import Verdict
from agent.grounding.check import Objection
from agent.models.base import Message, ModelError, ModelMessage, UserMessage
from agent.prompts import prompt
from agent.tool_calls import objects as objects
from retrieval.i18n import Text

log = logging.getLogger(__name__)

Converse = Callable[[Sequence[Message]], Awaitable[ModelMessage]]
"""One call of the model for a reply in `SCHEMA`. Raises `ModelError` or TimeoutError."""
Extent = Literal["yes", "partly", "no"]

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "enum": ["keep", "revise", "reject"]},
        "critique": {"type": "string", "description": "One or two sentences: what you changed, or why nothing."},
        "answer": {"type": "string", "description": "The whole corrected answer if the verdict is revise, else empty."},
        "found": {"type": "string", "enum": ["yes", "partly", "no"]},
        "sure": {"type": "string", "enum": ["yes", "no"]},
    },
    "required": ["verdict", "critique", "found", "sure"],
}

_VERDICTS: Mapping[str, Verdict] = {
    **dict.fromkeys(("keep", "ok", "pass", "good", "accept", "approve", "approved", "kept"), "keep"),
    **dict.fromkeys(("revise", "revised", "fix", "edit", "correct", "rewrite"), "revise"),
    **dict.fromkeys(("reject", "rejected", "fail", "discard", "no_answer"), "reject"),
}
_EXTENTS: Mapping[str, Extent] = {
    **dict.fromkeys(("yes", "true", "はい"), "yes"),
    **dict.fromkeys(("no", "false", "いいえ"), "no"),
    **dict.fromkeys(("partly", "partially", "partial", "一部"), "partly"),
}
_LINE = re.compile(
    r"\n?^[ \t\u3000>*_`\-]*(?P<what>found|sure)[*_`\s]*[:：][*_`\s]*(?P<said>\w+)[*_`\s.。]*\Z",
    re.IGNORECASE | re.MULTILINE,
)
_BESIDE = re.compile(r"^([^\w\n]*found\W*[:：]\W*\w+)[\s,、;|/]+(?=\W*sure\b[^\n]*\Z)", re.IGNORECASE | re.MULTILINE)
_NOT_REVIEWED = Text(
    en="The draft could not be reviewed; only the check in code was made.",
    ja="回答案の見直しはできませんでした。プログラムによる照合だけを行いました。",
)


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer, and what its writer says of it: whether the results answer, and whether it is sure. None: not said."""

    text: str
    found: Extent | None = None
    sure: bool | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """`answer` is the new text of a revision, else empty."""

    verdict: Verdict
    critique: str = ""
    answer: str = ""
    found: Extent | None = None
    sure: bool | None = None


async def reflect(
    converse: Converse, conversation: Sequence[Message], ask: Ask, objections: Sequence[Objection] = ()
) -> Review:
    """The review of the draft that the conversation ends with. A model that fails at it leaves the draft as it is: the
    check in code follows in any case."""
    findings = ""
    if objections:
        rows = [f"- “{_one_line(each.sentence)}”: {_one_line(each.reason)}" for each in objections]
        findings = prompt("objections", objections="\n".join(rows)) + "\n\n"
    wanted = prompt("review", question=ask.question[:2_000], language=LANGUAGES[ask.language], objections=findings)
    try:
        return parse_review((await converse([*conversation, UserMessage(wanted)])).text)
    except (ModelError, TimeoutError) as error:
        log.warning("the draft was not reviewed: %s", type(error).__name__)
        return Review("keep", _NOT_REVIEWED.to(ask.language))


def parse_draft(text: str) -> Draft:
    """A draft without the lines `Found: yes|partly|no` and `Sure: yes|no` at its end, or the answer in a JSON object
    with these as fields."""
    if text.lstrip("`json \n").startswith("{"):
        for value in objects(text):
            if isinstance(value.get("answer"), str):
                inner = parse_draft(value["answer"])
                return Draft(
                    inner.text, _extent(value.get("found")) or inner.found, _sure(value.get("sure"), inner.sure)
                )
    said: dict[str, str] = {}
    text = _BESIDE.sub(r"\1\n", text)
    while (line := _LINE.search(text)) and _extent(line["said"]):
        said.setdefault(line["what"].lower(), line["said"])
        text = text[: line.start()].rstrip()
    return Draft(text.strip(), _extent(said.get("found")), _sure(said.get("sure"), None))


def parse_review(text: str) -> Review:
    """The review in a model's reply, whatever stands around it. What cannot be read keeps the draft: the check in code
    still follows."""
    for value in objects(text):
        verdict = _VERDICTS.get(str(value.get("verdict", "")).strip().lower())
        if verdict is None:
            continue
        critique, written = _text(value.get("critique")), parse_draft(_text(value.get("answer")))
        found = _extent(value.get("found")) or written.found
        if verdict == "revise" and not written.text and found != "no":
            verdict = "keep"
        answer = written.text if verdict == "revise" else ""
        return Review(verdict, critique, answer, found, _sure(value.get("sure"), written.sure))
    return Review("keep")


def _extent(value: object) -> Extent | None:
    return _EXTENTS.get(str(value).strip().lower())


def _sure(value: object, otherwise: bool | None) -> bool | None:
    extent = _extent(value)
    return otherwise if extent is None else extent == "yes"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _text(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return re.sub(r"^```(?:markdown)?\n(.*)\n```$", r"\1", value.strip(), flags=re.DOTALL)
