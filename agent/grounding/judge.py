"""Claims that code can neither prove nor refute (rules, inversions, the right number on the wrong subject), decided by
a model: does the quoted passage say the claim? One call for all of an answer's claims."""

import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from agent.grounding.claims import OpenClaim as OpenClaim
from agent.grounding.claims import Verdict as Verdict
from agent.models.base import Message, ModelError, ModelMessage, SystemMessage, UserMessage
from agent.prompts import prompt
from agent.reflection import objects
from retrieval.i18n import Language

log = logging.getLogger(__name__)

MOST = 24  # claims in one call
SENTENCE = 400  # characters of a claim
QUOTE = 700  # and of its passage

Converse = Callable[[Sequence[Message]], Awaitable[ModelMessage]]
"""One call of the judging model for a reply in `SCHEMA`. Raises `ModelError` or TimeoutError."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "claim": {"type": "integer", "description": "The claim's number."},
                    "verdict": {"type": "string", "enum": ["entailed", "contradicted", "not_stated"]},
                },
                "required": ["claim", "verdict"],
            },
        }
    },
    "required": ["verdicts"],
}

_VERDICTS: Mapping[str, Verdict] = {
    **dict.fromkeys(("entailed", "entails", "entailment", "supported", "stated", "true", "yes"), "entailed"),
    **dict.fromkeys(("contradicted", "contradicts", "contradiction", "refuted", "false"), "contradicted"),
    **dict.fromkeys(("not_stated", "neutral", "unsupported", "not_supported", "not_entailed"), "not_stated"),
}


async def judge(converse: Converse, claims: Sequence[OpenClaim], language: Language) -> dict[int, Verdict]:
    """The model's findings, by the claims' places in `claims`; a place that is missing was not judged.

    At most `MOST` claims are put to it, the first ones. A model that fails has judged nothing.
    """
    asked = claims[:MOST]
    if not asked:
        return {}
    text = prompt("judge", claims="\n\n".join(_shown(at, claim) for at, claim in enumerate(asked, 1)))
    try:
        said = await converse(
            [SystemMessage("You judge whether passages say what is claimed.", language), UserMessage(text)]
        )
    except (ModelError, TimeoutError) as error:
        log.warning("the claims were not judged: %s", type(error).__name__)
        return {}
    return parse_verdicts(said.text, len(asked))


def parse_verdicts(text: str, count: int) -> dict[int, Verdict]:
    """The verdicts in a model's reply about `count` claims, by place from 0, whatever stands around them; also of a
    reply that was cut off. A claim with two different verdicts was not judged."""
    found: dict[int, Verdict] = {}
    unclear: set[int] = set()
    for number, word in _said(text):
        digits = re.search(r"\d{1,4}", str(number))
        verdict = _VERDICTS.get(re.sub(r"[\s-]+", "_", str(word).strip().lower()))
        place = int(digits.group()) - 1 if digits else -1
        if verdict is None or not 0 <= place < count:
            continue
        if found.setdefault(place, verdict) != verdict:
            unclear.add(place)
    return {place: verdict for place, verdict in found.items() if place not in unclear}


def _said(text: str) -> Iterator[tuple[object, object]]:
    """A claim's number and its verdict, in the forms that models write: a list of objects, or numbers as keys."""
    for value in objects(text):
        inner = value.get("verdicts", value)
        for row in inner if isinstance(inner, list) else [inner]:
            if not isinstance(row, dict):
                continue
            if "verdict" in row:
                yield row.get("claim", row.get("index", row.get("n"))), row["verdict"]
            else:
                yield from row.items()


def _shown(number: int, claim: OpenClaim) -> str:
    said, quote = _data(claim.sentence, SENTENCE), _data(claim.quote, QUOTE)
    return f'<claim n="{number}">\n{said}\n<passage>\n{quote}\n</passage>\n</claim>'


def _data(text: str, most: int) -> str:
    """A text without the marks that enclose it."""
    shown = re.sub(r"<(?=/?(?:claim|passage)\b)", "‹", text, flags=re.IGNORECASE)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
