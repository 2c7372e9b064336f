"""The second look at a draft: the model criticises it, told what the check in code has found, and may rewrite it."""

import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent.citations import fences, marks
from agent.conversation import LANGUAGES, REPEATED_CHARACTERS, Ask, cut, without_middle
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

_SAID = {
    "found": {"type": "string", "enum": ["yes", "partly", "no"]},
    "sure": {"type": "string", "enum": ["yes", "no"]},
}
DRAFT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "answer": {"type": "string", "description": "The answer, in Markdown; empty if there is none."},
        **_SAID,
    },
    "required": ["answer", "found", "sure"],
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "enum": ["keep", "revise", "reject"]},
        "critique": {"type": "string", "description": "One or two sentences: what you changed, or why nothing."},
        "answer": {"type": "string", "description": "The whole corrected answer if the verdict is revise, else empty."},
        **_SAID,
    },
    "required": ["verdict", "critique", "found", "sure"],
}

_VERDICTS: Mapping[str, Verdict] = {
    **dict.fromkeys(("keep", "ok", "pass", "good", "accept", "approve", "approved", "kept", "維持"), "keep"),
    **dict.fromkeys(("revise", "revised", "revision", "fix", "edit", "correct", "rewrite", "修正"), "revise"),
    **dict.fromkeys(("reject", "rejected", "fail", "discard", "no_answer", "却下"), "reject"),
}
_EXTENTS: Mapping[str, Extent] = {
    **dict.fromkeys(("yes", "true", "はい"), "yes"),
    **dict.fromkeys(("no", "false", "いいえ", "なし"), "no"),
    **dict.fromkeys(("partly", "partially", "partial", "一部", "部分的"), "partly"),
}
_OWN = (
    r"""[ \t\u3000>*_`"'「(（\-]*(?P<what>found|sure|見つか(?:った|りました)|確信)"""
    r"""[*_`"\s]*[:：][*_`"\s]*(?P<said>[^\W_]+)"""
)
_LINE = re.compile(rf"""^{_OWN}[ \t\u3000*_`"'」)）.。]*$\n?""", re.IGNORECASE | re.MULTILINE)
_REMARKED = re.compile(rf"^{_OWN}[^\w\n]*[(（,、;；\-–—].*\Z", re.IGNORECASE | re.MULTILINE)
_BESIDE = re.compile(
    r"^([^\w\n]*found[^\w:：]{0,9}[:：]\W{0,9}\w+)[\s,、;|/.。]{1,9}(?=\W{0,9}sure\b[^\n]*\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_INLINE = re.compile(
    r"(?<=[^\s(（])[ \t]+(?=found[^\w:：]{0,9}[:：]\W{0,9}\w+[\s,、;|/.。]{1,9}sure\W{0,9}\w+\W*\Z)", re.IGNORECASE
)
_FENCED = re.compile(
    r"\A\s*```(?:markdown|md|json|text)?[ \t]*\n(?P<inside>(?:(?!```).)*)\n```(?P<rest>.*)\Z", re.DOTALL
)
_TAGGED = re.compile(r"\A\s*<(?P<tag>answer|response)>(?P<inside>.*?)(?:</(?P=tag)>(?P<rest>.*))?\Z", re.DOTALL)
_FIELDS = re.compile(r"(?:```(?:json)?\s*)?(?P<object>\{[^{}]*\})(?:\s*```)?\Z")
_CUT_OBJECT = re.compile(r'\A\s*\{\s*"(?:answer|response)"\s*:\s*("(?:[^"\\]|\\.)*")', re.DOTALL)
_JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_FEW_LETTERS = 15  # a name, a command or a figure is in no language
_NAMES_LANGUAGE = re.compile(r"english|japanese|translat|英語|日本語|[英和]訳|翻訳", re.IGNORECASE)
_OTHER_LANGUAGE = Text(
    en="The question is in English, so the answer has to be.",
    ja="質問は日本語なので、回答も日本語でなければなりません。",
)
_NOT_REVIEWED = Text(
    en="The draft could not be reviewed; only the automatic check was made.",
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
    question = without_middle(ask.question, REPEATED_CHARACTERS)
    wanted = prompt("review", question=question, language=LANGUAGES[ask.language], objections=findings)
    try:
        review = parse_review((await converse([*conversation, UserMessage(wanted)])).text)
    except (ModelError, TimeoutError) as error:
        log.warning("the draft was not reviewed: %s", type(error).__name__)
        review = None
    return review or Review("keep", _NOT_REVIEWED.to(ask.language))


def in_other_language(text: str, ask: Ask) -> list[Objection]:
    """The objection to an answer that is not in the question's language, unless the question names one."""
    prose = "".join(part for fenced, part in fences(text) if not fenced)
    letters, japanese = sum(map(str.isalpha, prose)), len(_JAPANESE.findall(prose))
    other = japanese * 2 > letters if ask.language == "en" else not japanese
    if letters < _FEW_LETTERS or not other or _NAMES_LANGUAGE.search(ask.question):
        return []
    return [Objection(cut(text, _FEW_LETTERS * 4), _OTHER_LANGUAGE.to(ask.language))]


def parse_draft(text: str) -> Draft:
    """A draft without its lines `Found: yes|partly|no` and `Sure: yes|no`, and without what some models wrap it in: a
    fence, a tag, a JSON object with these as fields."""
    text = _unwrapped(text)
    if text.lstrip().startswith("{"):
        for value in objects(text):
            answer = next((value[name] for name in ("answer", "response") if isinstance(value.get(name), str)), None)
            found, sure = _extent(value.get("found")), _sure(value.get("sure"), None)
            if answer is not None or found is not None:
                inner = parse_draft(answer or "")
                return Draft(inner.text, found or inner.found, inner.sure if sure is None else sure)
        if cut := _CUT_OBJECT.match(text):
            text = json.loads(cut[1], strict=False)
    said: dict[str, str] = {}

    def taken(line: re.Match[str]) -> str:
        if _extent(line["said"]) is None:
            return line[0]
        said["found" if line["what"].lower().startswith(("found", "見")) else "sure"] = line["said"]
        return ""

    text = _BESIDE.sub(r"\1\n", _INLINE.sub("\n", text.rstrip()))
    fields = _FIELDS.search(text)
    value = next(objects(fields["object"]), {}) if fields else {}
    if fields and value and value.keys() <= {"found", "sure"} and all(map(_extent, value.values())):
        text = text[: fields.start()]
        said |= {name: str(value[name]) for name in value}
    for _ in ("found", "sure"):
        text = "".join(part if fenced else _LINE.sub(taken, part) for fenced, part in fences(text))
        text = _REMARKED.sub(taken, text.rstrip())
    return Draft(text.strip(), _extent(said.get("found")), _sure(said.get("sure"), None))


def _unwrapped(text: str) -> str:
    """A draft without the fence or the tag around the whole of it. A fence without citations is code."""
    if (fence := _FENCED.match(text)) and not _LINE.sub("", fence["rest"]).strip():
        inside = fence["inside"]
        return f"{inside}\n{fence['rest']}" if marks(inside) or inside.lstrip().startswith("{") else text
    tag = _TAGGED.match(text)
    return f"{tag['inside']}\n{tag['rest'] or ''}" if tag else text


def parse_review(text: str) -> Review | None:
    """The review in a model's reply, whatever stands around it; one that gives a whole answer and no verdict revises.
    None: there is none to read, and the draft is kept; the check in code still follows."""
    for value in (each for outer in objects(text) for each in (outer, *outer.values()) if isinstance(each, dict)):
        written = parse_draft(_text(value.get("answer")))
        verdict = _verdict(value.get("verdict", "revise" if written.text else None))
        if verdict is None:
            continue
        critique = _text(value.get("critique"))
        found = _extent(value.get("found")) or written.found
        if verdict == "revise" and not written.text and found != "no":
            verdict = "keep"
        answer = written.text if verdict == "revise" else ""
        return Review(verdict, critique, answer, found, _sure(value.get("sure"), written.sure))
    return None


def _verdict(value: object) -> Verdict | None:
    """A verdict in a word, or in a few: "needs_revision", "revise: the date"."""
    said = str(value).strip().lower() if isinstance(value, str) else ""
    return next((_VERDICTS[word] for word in (said, *re.split(r"[\W_]+", said)[:3]) if word in _VERDICTS), None)


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
