"""Questions and answers from one passage: what a model is asked for, what is read from its reply, and the check in code
that the passage says it. Source: seeds/0_agent_rag.md §4.5; product.md §3 (Q/A pairs).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agent.citations import without_marks
from agent.conversation import LANGUAGES
from agent.grounding.check import check
from agent.grounding.claims import pairs as neighbours
from agent.grounding.entities import names
from agent.grounding.evidence import Evidence
from agent.grounding.quantities import facts, figures, squeeze
from agent.model_call import speak
from agent.models.base import ChatModel, Message, ModelProtocolError, SystemMessage, UserMessage
from agent.prompts import prompt
from agent.tool_calls import objects
from retrieval.loaders.sanitize import clean, clean_line
from retrieval.qa_pairs import by_wording
from retrieval.text import language_of
from retrieval.types import Hit, Passage, QAPair

QUESTION = 500  # characters
ANSWER = 2_000
_ALIKE = 0.3  # share of the shorter answer's neighbouring characters that two answers saying the same have in common

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "pairs": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "question": {"type": "string", "description": "Understood without the passage."},
                    "answer": {"type": "string", "description": "Only what the passage says."},
                },
                "required": ["question", "answer"],
            },
        }
    },
    "required": ["pairs"],
}

Support = Literal["yes", "unsure", "no"]

_POINTING = re.compile(
    r"(?:この|本|上記の?|上の|下記の?|以下の)(?:文書|文章|資料|パッセージ|記事|一節|抜粋|テキスト)|上記|前述"
    r"|\b(?:this|the)\s+(?:passage|excerpt|text|snippet)\b|\bthis\s+(?:document|section|article|page)\b|\bthe above\b"
    r"|\baccording to the document\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Proposed:
    """A pair that its passage supports. `marked`: only a reader can tell whether it does."""

    question: str
    answer: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """The pairs of one passage; `dropped` counts those that it does not say, or that nobody would understand."""

    pairs: tuple[Proposed, ...] = ()
    dropped: int = 0


async def propose(model: ChatModel, passage: Passage, count: int, *, until: float | None = None) -> Proposal:
    """Have at most `count` pairs written from a passage, in its language. `until` is in loop time.

    Raises TimeoutError at `until`, and `ModelError`: ModelProtocolError when no try brought a reply that can be read.
    """
    said = await speak(model, request(passage, count), schema=SCHEMA, until=until)
    return checked(parse_pairs(said.text), passage, count)


def request(passage: Passage, count: int) -> list[Message]:
    """The conversation that asks for the pairs."""
    language = language_of(passage.text)
    instructions = prompt("pairs", language=LANGUAGES[language], count=str(count))
    heading = " > ".join(dict.fromkeys(_inside(part) for part in (passage.title, *passage.headings) if part))
    rows = [f"Document: {_inside(passage.document)}"]
    if heading:
        rows.append(f"Section: {heading}")
    rows.append(f"<passage>\n{_inside(passage.text)}\n</passage>")
    return [SystemMessage(instructions, language), UserMessage("\n".join(rows))]


def parse_pairs(text: str) -> tuple[QAPair, ...]:
    """The pairs in a model's reply, whatever stands around them; of a reply that was cut off those that are whole.

    Raises ModelProtocolError when there is nothing of the kind in it.
    """
    found: list[QAPair] = []
    understood = False
    for value in objects(text):
        understood = understood or isinstance(value.get("pairs"), list)
        found += _pairs(value)
    if not understood and not found:
        raise ModelProtocolError("the reply has no pairs in it")
    return tuple(found)


def _pairs(value: Mapping[str, Any]) -> Iterator[QAPair]:
    inner = value.get("pairs")
    for each in inner if isinstance(inner, list) else [value]:
        question, answer = (each.get("question"), each.get("answer")) if isinstance(each, dict) else (None, None)
        if isinstance(question, str) and isinstance(answer, str):
            yield QAPair(question, answer)


def checked(found: tuple[QAPair, ...], passage: Passage, count: int) -> Proposal:
    """Of these pairs at most `count` that the passage says, each question once. Pure."""
    tidied = [tidy(pair.question, pair.answer) for pair in found]
    firsts = [tidied[group[0]] for group in by_wording([pair.question for pair in tidied])]
    kept: list[Proposed] = []
    dropped = 0
    for pair in firsts:
        ruling = supported(pair, passage) if not unfit(pair) and not _POINTING.search(pair.question) else "no"
        if ruling == "no":
            dropped += 1
        elif len(kept) < count:
            kept.append(Proposed(pair.question, pair.answer, marked=ruling == "unsure"))
    return Proposal(tuple(kept), dropped)


def tidy(question: str, answer: str) -> QAPair:
    """Without invisible characters and citation marks, the question in one line."""
    return QAPair(clean_line(without_marks(question), QUESTION + 1), without_marks(clean(answer)).strip())


def unfit(pair: QAPair) -> bool:
    """Whether one side says nothing or is too long."""
    bare = not any(map(str.isalnum, pair.question)) or not any(map(str.isalnum, pair.answer))
    return bare or len(pair.question) > QUESTION or len(pair.answer) > ANSWER


def supported(pair: QAPair, passage: Passage) -> Support:
    """Whether the passage says the answer, by the check that answers in channels go through; and whether the question
    brings in numbers that the passage does not have ("no") or names ("unsure"). Pure."""
    hit = Hit(passage, {}, 1.0)
    evidence = Evidence(hit)
    if any(not evidence.figures.hold(fact) for fact in facts(pair.question)):
        return "no"
    cited = "\n".join(f"{line} [1]" if line.strip() else line for line in pair.answer.split("\n"))
    result = check(cited, {1: hit}, language_of(pair.answer), judged=False)
    if not result.text or result.removed:
        return "no"
    strangers = any(not evidence.mentions(name) for name in names(pair.question))
    foreign = language_of(pair.question) != language_of(passage.text)
    return "unsure" if result.marked or strangers or foreign else "yes"


def agree(one: str, other: str) -> bool:
    """Whether two answers to the same question say the same: the numbers of one are in the other, and in one language
    they share their words."""
    if any(not figures(other).hold(fact) for fact in facts(one)) and any(
        not figures(one).hold(fact) for fact in facts(other)
    ):
        return False
    if language_of(one) != language_of(other):
        return True
    ours, theirs = neighbours(squeeze(one)), neighbours(squeeze(other))
    return len(ours & theirs) >= _ALIKE * min(len(ours), len(theirs))


def _inside(text: str) -> str:
    """A document's text without the marks that enclose it."""
    return re.sub(r"<(?=/?passage>)", "‹", text, flags=re.IGNORECASE)
