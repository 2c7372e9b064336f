"""How likely a passage answers a question, 0..1: calibrated on questions whose answers are known, not guessed.

Fused scores rank, they say nothing absolute. So what speaks for a passage is read from raw facts — the cosine and its
lead over the other passages, and how much of the question, weighted by rarity, stands close together in the text —
and a logistic with a handful of weights turns it into a probability. `benchmarks/fit_relevance.py` makes the weights.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

import numpy as np

from retrieval.centring import Means
from retrieval.i18n import Language
from retrieval.sparse import SparseEncoder, term_id
from retrieval.text import language_of
from retrieval.types import MIN_RELEVANCE, Passage, Reading, Scored

Fit = Literal["both", "words", "meaning"]
"""What was at hand: words and meaning; no cosine; no words in common to hope for (another script, or only a cosine)."""

SIGNALS: Mapping[Fit, tuple[str, ...]] = {
    "both": ("window", "line", "heads", "cosine", "margin", "place", "gap"),
    "words": ("window", "line", "heads", "place", "gap"),
    "meaning": ("cosine", "margin"),
}

_LEAD = 0.2  # a lead beyond it says more about how strange the other passages are than about this one
_BEGINNING = 300  # characters of a passage that tell its language
_RIVALS = 10  # the passages whose mean cosine a passage has to lead

# What askers say around their question. It says nothing about the subject, so a passage need not contain it.
_GENERIC = """
know anyone anybody everyone someone somebody tell ask question questions hey hi hello thanks thank help quick wonder
wondering sorry folks guys explain describe let want need would like get got give show remember idea actually btw much
many long often kind type sort name named called exactly able supposed happen happens might could possible us one
find understand point curious good morning afternoon evening cheers deal around whether details
教える 教えて 知る 知りたい 知ってる 下さい ください 頂く いただけますか
貰う もらえますか くれる 何処 どこ いつ 誰 何 幾つ いくつ
幾ら いくら どの どれ どちら どう どうやって どうすれば 如何 何故 なぜ 方法 やり方 仕方
時 際 場合 良い いい 言う いう 呼ぶ 済む すみません
質問 因みに ちなみに 御座る ございます お願い 願う
分かる わかる わかりますか 出来る できる 欲しい ほしい 思う 誰か どなたか 何方 皆さん
何分 何人 何曜 其々 聞く 伺う 尋ねる 存じる いらっしゃる 忙しい 所 恐れる 一応
ちょっと ついて 関して 説明 詳細 書く 手数 後 有り難う おはよう こんにちは
詳しい 簡単 具体 内容 情報 行う 必要 困る 何か でしょうか そもそも とか って お疲れ様 お世話 はじめまして
"""


@dataclass(frozen=True, slots=True)
class RelevanceEvidence:
    """The evidence for one passage. Shares are of the question's words, weighted by rarity.

    `window`: the best two neighbouring lines together with title and headings. `line`: the best line alone. `heads`:
    title and headings alone. `cosine`: of question and passage. `margin`: how far that is above the mean of the next
    passages. `place`: the fused score, as a share of the best one's. `gap`: how far the best one is ahead in that.
    """

    window: float = 0.0
    line: float = 0.0
    heads: float = 0.0
    cosine: float = 0.0
    margin: float = 0.0
    place: float = 1.0
    gap: float = 0.0


@dataclass(frozen=True, slots=True)
class Weights:
    """One logistic regression: relevance = σ(bias + Σ weight · signal)."""

    bias: float
    signals: Mapping[str, float]

    def relevance(self, evidence: RelevanceEvidence) -> float:
        total = self.bias + sum(weight * float(getattr(evidence, name)) for name, weight in self.signals.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


@dataclass(frozen=True, slots=True)
class Space:
    """The facts about an embedder's vector space.

    `means` are those of questions and passages of each language. `centre` and `spread` are the mean and the standard
    deviation of the cosines of one search's candidates, centred by them.
    """

    weights: Mapping[Fit, Weights]
    centre: float
    spread: float
    means: Means = Means()  # noqa: RUF009 - frozen
    native: bool = True  # False: fitted on another embedder; this one's cosines are rescaled to look like those

    def rescaled(self, ranked: Sequence[Scored]) -> dict[str, float]:
        """Id → cosine, on the scale that the weights were fitted on; nothing where a lone one shows no scale."""
        cosines = [scored.score for scored in ranked]
        if self.native:
            return {scored.id: scored.score for scored in ranked}
        if len(cosines) < 2:
            return {}
        mean = sum(cosines) / len(cosines)
        deviation = math.sqrt(sum((cosine - mean) ** 2 for cosine in cosines) / len(cosines)) or 1.0
        return {scored.id: self.centre + (scored.score - mean) / deviation * self.spread for scored in ranked}


@lru_cache(maxsize=8)
def space(embedder: str) -> Space:
    """The shipped weights for an embedder's vectors, by the name of `EmbeddingClient`."""
    shipped: Mapping[str, Any] = json.loads(resources.files("retrieval").joinpath("relevance.json").read_text("utf-8"))
    fitted: Mapping[str, Any] = shipped["embedders"]
    known = fitted.get(embedder) or next(iter(fitted.values()))
    return Space(
        {name: Weights(fit["bias"], fit["signals"]) for name, fit in known["weights"].items()},
        known["centre"],
        known["spread"],
        _means(known["means"]) if embedder in fitted else Means(),
        native=embedder in fitted,
    )


def _means(shipped: Mapping[str, Mapping[Language, Sequence[float]]]) -> Means:
    return Means(
        *({language: np.array(mean) for language, mean in shipped[of].items()} for of in ("questions", "passages"))
    )


class QuestionSubject:
    """Tells what a question is about from what askers say around it. Safe in any number of threads."""

    def __init__(self, encoder: SparseEncoder) -> None:
        self._generic: Callable[[], frozenset[int]] = lru_cache(1)(
            lambda: frozenset(map(term_id, (*encoder.terms(_GENERIC), *_GENERIC.split())))
        )

    def __call__(self, words: Sequence[int]) -> list[int]:
        """The question's words that say what it is about."""
        generic = self._generic()
        return [word for word in words if word not in generic]


def shares(weights: Mapping[int, float], reading: Reading) -> tuple[float, float, float]:
    """`window`, `line` and `heads` of `RelevanceEvidence`; `weights` are those of the question's words."""
    total = sum(weights.values())
    if not total:
        return 0.0, 0.0, 0.0

    def share(words: Set[int]) -> float:
        return sum(map(weights.__getitem__, words)) / total

    heads = weights.keys() & reading.heads
    lines = [weights.keys() & line for line in reading.lines]
    pairs = zip(lines, (*lines[1:], set[int]()), strict=True)
    return (
        max((share(heads | line | following) for line, following in pairs), default=share(heads)),
        max(map(share, lines), default=0.0),
        share(heads),
    )


class Judge:
    """Gathers the evidence for the candidates of one query.

    `weights` are those of the words the query is about, `dense` is that branch's list (None where it did not answer),
    `fused` the DBSF score by id.
    """

    def __init__(
        self,
        space: Space,
        language: Language,
        weights: Mapping[int, float],
        *,
        dense: Sequence[Scored] | None,
        fused: Mapping[str, float],
    ) -> None:
        self._space = space
        self._language = language
        self._weights = weights
        self._cosines = space.rescaled(dense or ())
        self._margins = _margins(dense or (), self._cosines) if self._cosines else {}
        # A passage that a full list does not hold is no nearer than the last one it holds.
        self._furthest = min(self._cosines.values(), default=space.centre)
        self._fused = fused
        ahead = sorted(fused.values(), reverse=True)[:2]
        self._best = (ahead[0] if ahead else 0.0) or 1.0
        self._second = ahead[1] if len(ahead) > 1 else self._best / 2

    def evidence(self, id: str, reading: Reading) -> dict[Fit, RelevanceEvidence]:
        """The evidence to judge this passage by: words, meaning or both; nothing where the query did not find it.

        Words speak when the query has any; in another script they can speak for a passage, but not against it, so
        meaning is asked too.
        """
        found: dict[Fit, RelevanceEvidence] = {}
        if id not in self._fused:
            return found
        if self._weights or not self._cosines:
            window, line, heads = shares(self._weights, reading)
            found["both" if self._cosines else "words"] = RelevanceEvidence(
                window,
                line,
                heads,
                self._cosines.get(id, self._furthest),
                self._margins.get(id, 0.0),
                place=self._fused[id] / self._best,
                gap=max(0.0, self._fused[id] - self._second) / self._best,
            )
        if id in self._cosines and (reading.language != self._language or not self._weights):
            found["meaning"] = RelevanceEvidence(cosine=self._cosines[id], margin=self._margins[id])
        return found

    def held(self, reading: Reading) -> float:
        """How much of the question, by rarity, stands anywhere in the passage, 0..1."""
        total = sum(self._weights.values())
        there = self._weights.keys() & reading.heads.union(*reading.lines)
        return sum(map(self._weights.__getitem__, there)) / total if total else 0.0

    def relevance(self, id: str, reading: Reading) -> float:
        """How likely the passage answers the question, 0..1. A single word is looked up, it asks nothing: a passage
        that has it is relevant enough to be shown."""
        evidence = self.evidence(id, reading)
        fitted = max((self._space.weights[fit].relevance(facts) for fit, facts in evidence.items()), default=0.0)
        looked_up = evidence and len(self._weights) == 1 and self.held(reading) == 1
        return max(fitted, MIN_RELEVANCE) if looked_up else fitted


def spoken(passage: Passage) -> Language:
    """The language a passage is written in, as far as its beginning shows."""
    return language_of(f"{passage.question or ''} {passage.text[:_BEGINNING]}")


def _margins(ranked: Sequence[Scored], cosines: Mapping[str, float]) -> dict[str, float]:
    """Id → how far a cosine is above the mean of the ten best others, at most `_LEAD`; 0 where there are no others."""
    best = sorted((cosines[one.id] for one in ranked), reverse=True)[: _RIVALS + 1]
    found: dict[str, float] = {}
    for one in ranked:
        others = sum(best) - max(cosines[one.id], best[-1])  # one of the best is itself, or gives way
        rivals = len(best) - 1
        found[one.id] = min(_LEAD, cosines[one.id] - others / rivals) if rivals else 0.0
    return found
