"""The cost of having Q/A pairs written, before anything is spent: in calls and tokens, as the budget counts them,
since what a model costs in money is not ours to know.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agent.events import Cost
from agent.qa_generation import request
from bot.store.qa_jobs import ChunkPlace
from bot.store.usage import Usage
from bot.turns.budget import BudgetLimits
from retrieval.i18n import Text, filled
from retrieval.text import language_of
from retrieval.types import Passage

_LEARNT = 20  # calls after which we know what one of a model takes
_TOKENS_PER_PAIR = {"ja": 110, "en": 80}
_THINKING = 200  # tokens a call

_ESTIMATE = Text(
    en="Up to {pairs} Q/A pairs (passages: {chunks}, documents: {documents}). This takes about {calls} call{calls:|s} "
    "to {model} and about {tokens} token{tokens:|s} in all.",
    ja="{documents} 件の文書の {chunks} か所から、最大 {pairs} 件の Q/A ペアを作成します。{model} の呼び出しは約 "
    "{calls} 回、合計で約 {tokens} トークンの見込みです。",
)
_SKIPPED = Text(
    en=" Passages that already have pairs are left out ({n}).",
    ja="すでに作成済みの {n} か所は除きます。",
)
_LEFT = Text(en=" Left of today’s budget: {what}.", ja="本日の残り: {what}。")
_CALLS_LEFT = Text(en="{n} call{n:|s}", ja="{n} 回")
_TOKENS_LEFT = Text(en="{n} token{n:|s}", ja="{n} トークン")
_SHORT = Text(
    en=" That is not enough for all of it: it will pause when the budget is used up and can be resumed tomorrow.",
    ja="すべてには足りないため、上限に達したところで一時停止します。翌日に再開できます。",
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The size of a job. `skipped` chunks have their pairs already; `calls_left` and `tokens_left` are those of the
    day's budget, None without one. `said` is all of it in words."""

    documents: int
    chunks: int
    pairs: int  # at most
    calls: int
    tokens: int
    skipped: int
    calls_left: int | None
    tokens_left: int | None
    said: Text


@dataclass(frozen=True, slots=True)
class Material:
    """A chunk to write from."""

    passage: Passage
    spot: ChunkPlace
    count: int


def estimate(
    found: Sequence[Material], skipped: int, model: str, spent: Cost, left: tuple[int | None, int | None]
) -> Estimate:
    """The cost of writing from these chunks: by what calls of this model have taken so far (`spent`), else by the
    length of what is sent. `left`: as `left_of`."""
    sums = _sum(spent)
    each = sums / spent.calls if spent.calls >= _LEARNT and sums else None
    tokens = round(each * len(found)) if each else sum(map(_tokens, found))
    counted = Estimate(
        documents=len({one.spot.document for one in found}),
        chunks=len(found),
        pairs=sum(one.count for one in found),
        calls=len(found),
        tokens=_rounded(tokens),
        skipped=skipped,
        calls_left=left[0],
        tokens_left=left[1],
        said=_ESTIMATE,
    )
    return replace(counted, said=_worded(counted, model))


async def left_of(usage: Usage, limits: BudgetLimits, now: datetime) -> tuple[int | None, int | None]:
    """Calls and tokens that are left of the day's budget; None where it has no limit. Raises StoreError."""
    spent = await usage.of(now.date())
    return (
        max(0, limits.daily_calls - spent.calls) if limits.daily_calls else None,
        max(0, limits.daily_tokens - _sum(spent)) if limits.daily_tokens else None,
    )


def _sum(cost: Cost) -> int:
    return cost.input_tokens + cost.output_tokens + cost.thought_tokens


def _tokens(one: Material) -> int:
    """About what a call will take: Japanese has a token a character, English one for four."""
    said = "".join(getattr(message, "text", "") for message in request(one.passage, one.count))
    wide = sum(character > "\u2e80" for character in said)
    return wide + (len(said) - wide) // 4 + one.count * _TOKENS_PER_PAIR[language_of(one.passage.text)] + _THINKING


def _rounded(tokens: int) -> int:
    """Up, to two digits that count."""
    step = int(10 ** max(0, len(str(tokens)) - 2))
    return -(-tokens // step) * step


def _worded(one: Estimate, model: str) -> Text:
    numbers = {"pairs": one.pairs, "chunks": one.chunks, "documents": one.documents, "calls": one.calls}
    shown = {name: f"{n:,}" for name, n in numbers.items()} | {"tokens": f"{one.tokens:,}", "model": model}
    parts = [filled(_ESTIMATE, **shown)]
    if one.skipped:
        parts.append(filled(_SKIPPED, n=f"{one.skipped:,}"))
    left = (one.calls_left, one.tokens_left)
    each = [
        filled(said, n=f"{n:,}") for said, n in zip((_CALLS_LEFT, _TOKENS_LEFT), left, strict=True) if n is not None
    ]
    if each:
        what = Text(en=", ".join(one.en for one in each), ja="、".join(one.ja for one in each))
        parts.append(filled(_LEFT, what=what))
    if any(n is not None and n < need for n, need in zip(left, (one.calls, one.tokens), strict=True)):
        parts.append(_SHORT)
    return Text(en="".join(part.en for part in parts), ja="".join(part.ja for part in parts))
