"""Says in an answer that its sources contradict each other, where it does not say so itself."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent.citations import without_marks
from agent.events import Citation
from agent.grounding.check import Checked
from agent.grounding.contradictions import Contradiction, Side, contradictions
from agent.grounding.quantities import facts, figures, squeeze
from agent.grounding.vocabulary import pattern
from retrieval.i18n import Language, Text
from retrieval.text import sentences
from retrieval.types import Hit, Passage

QUOTE = 300  # characters

_DISAGREE = {
    "date": Text(
        en="Note: the sources disagree about the date", ja="なお、日付・時期について資料の内容が食い違っています"
    ),
    "amount": Text(
        en="Note: the sources disagree about the figure", ja="なお、数値について資料の内容が食い違っています"
    ),
    "owner": Text(en="Note: the sources disagree about who it is", ja="なお、担当について資料の内容が食い違っています"),
}
_SIDE = Text(en="“{value}” in {marks}", ja="{marks} では「{value}」")
_COUNTS = Text(
    en=" A document ({marks}) takes precedence over what was said in a channel.",
    ja="チャンネルでの発言よりも、文書の内容（{marks}）が優先されます。",
)
_NEWEST = Text(en=" The most recent one is {mark} (updated {date}).", ja="最も新しい資料は {mark}（{date} 更新）です。")


def disclosed(result: Checked, hits: Mapping[int, Hit], language: Language) -> Checked:
    """A checked answer with a sentence about each contradiction that it does not speak of, both sides cited.

    `hits` by their own numbers: the passages to compare, those that are cited among them. Pure.
    """
    cited = list(result.cited)
    citations = list(result.citations)
    said: list[str] = []
    for found in contradictions(result.text, cited, hits):
        if _spoken_of(result.text, found):
            continue
        for n, sentence in (source for side in found.sides for source in side.sources):
            if n not in cited:
                cited.append(n)
                citations.append(_citation(len(cited), hits[n].passage, sentence))
        said.append(_sentence(found, cited, hits, language))
    if not said:
        return result
    text = "\n\n".join([result.text, *said])
    return replace(result, text=text, citations=tuple(citations), cited=tuple(cited))


_SETS_APART = re.compile(
    r"一方|のに対し|だが|ですが|ますが|ものの|しかし|ただし|新しい|古い|\b(?:while|whereas|but|however|although|newer|older|another)\b",
    re.IGNORECASE,
)


def _spoken_of(text: str, found: Contradiction) -> bool:
    """Whether an answer has every value and says, or lets one sentence set them apart, that they differ."""
    plain = without_marks(text)
    held = [_states(plain, side) for side in found.sides]
    if not all(held):
        return False
    return bool(pattern("conflict").search(plain)) or any(
        _SETS_APART.search(sentence) and sum(_states(sentence, side) for side in found.sides) > 1
        for sentence in sentences(plain)
    )


def _states(text: str, side: Side) -> bool:
    return squeeze(side.value) in squeeze(text) or any(figures(text).hold(fact) for fact in facts(side.value))


def _sentence(found: Contradiction, cited: Sequence[int], hits: Mapping[int, Hit], language: Language) -> str:
    def mark(n: int) -> str:
        return f"[{cited.index(n) + 1}]"

    ja = language == "ja"
    sides = [
        _SIDE.to(language, value=side.value, marks="".join(dict.fromkeys(mark(n) for n, _ in side.sources)))
        for side in found.sides
    ]
    text = _DISAGREE[found.kind].to(language) + ("：" if ja else ": ") + ("、" if ja else ", ").join(sides)
    text += "です。" if ja else "."
    written, newest = _written(found, hits), _newest(found, hits)
    if written:
        text += _COUNTS.to(language, marks="".join(map(mark, written)))
    elif newest is not None:
        text += _NEWEST.to(language, mark=mark(newest), date=hits[newest].passage.updated[:10])
    return text


def _written(found: Contradiction, hits: Mapping[int, Hit]) -> list[int]:
    """The documents, where some of the values were only said in a channel: these never win."""
    sides = [[n for n, _ in side.sources if not hits[n].passage.said_in] for side in found.sides]
    return list(dict.fromkeys(n for side in sides for n in side)) if any(sides) and not all(sides) else []


def _newest(found: Contradiction, hits: Mapping[int, Hit]) -> int | None:
    """The passage that is newer than every one of another value; None where a date is not known, or not so exactly."""
    latest = [max((hits[n].passage.updated[:10], -n) for n, _ in side.sources) for side in found.sides]
    dates = [hits[n].passage.updated[:10] for side in found.sides for n, _ in side.sources]
    exact = min(map(len, dates))  # a month has 7 characters, a day 10
    (first, n), (second, _) = sorted(latest, reverse=True)[:2]
    return -n if exact and first[:exact] > second[:exact] else None


def _citation(n: int, passage: Passage, sentence: str) -> Citation:
    quote = sentence if len(sentence) <= QUOTE else sentence[: QUOTE - 1] + "…"
    place = (passage.document, passage.collection, passage.chunk)
    told = (passage.url, passage.updated or None, passage.name)
    return Citation(n, *place, quote, *told, said_in=passage.said_in, document_id=passage.document_id)
