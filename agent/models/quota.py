"""Limits on the cost of a model: a turn's own cap of calls and tokens, and the check of a larger budget before every
call.

Source: reliability.md R24. Thinking counts.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Protocol, cast

from agent.events import Cost
from agent.models.base import (
    ChatModel,
    Effort,
    Message,
    ModelBusy,
    ModelExhausted,
    ModelMessage,
    ModelOverlong,
    ModelProtocolError,
    ModelUnavailable,
    Part,
    Tool,
    Wrapped,
)

TURN_TOKENS = 250_000


class SpentError(ModelProtocolError):
    """The turn's own cap. As with a reply of no use, the answer is written from what is known."""


class OverBudgetError(ModelBusy):
    """The budget of the day: our own quota, which comes back tomorrow."""


class Ledger(Protocol):
    """The larger budget."""

    def check(self) -> None:
        """Raises OverBudgetError when nothing more may be spent."""

    def add(self, model: str, cost: Cost) -> None: ...


class QuotaModel(Wrapped):
    """A `ChatModel` for one turn. Of `calls` the last `kept` are not for calls with tools, and beyond `tokens` there is
    only one more call, without tools and schema: so what was found can be put into an answer.

    Raises SpentError and OverBudgetError before a call. Second tries that a provider refused cost nothing and do not
    count; a reply that was asked for and never read to its end counts as a call.
    """

    def __init__(
        self, model: ChatModel, ledger: Ledger, *, calls: int, kept: int = 2, tokens: int = TURN_TOKENS
    ) -> None:
        self._model = model
        self._ledger = ledger
        self._calls_left = calls
        self._kept = kept
        self._tokens_left = tokens
        self._last_words = False

    async def converse(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        schema: Mapping[str, Any] | None = None,
        effort: Effort | None = None,
    ) -> AsyncIterator[Part]:
        """As `ChatModel` says."""
        self._ledger.check()
        self._take(acts=bool(tools) and schema is None, writes=not tools and schema is None)
        cost = Cost(calls=1)
        try:
            parts = self._model.converse(messages, tools, schema=schema, effort=effort)
            async with aclosing(cast(Any, parts)) as closing:
                async for part in closing:
                    if isinstance(part, ModelMessage):
                        cost = part.cost
                    yield part
        except ModelExhausted as error:
            cost = error.cost
            raise
        except (ModelBusy, ModelOverlong, ModelUnavailable):
            cost = Cost()
            raise
        finally:
            self._tokens_left -= cost.input_tokens + cost.output_tokens + cost.thought_tokens
            self._calls_left -= max(0, cost.calls - 1)
            if cost.calls:
                self._ledger.add(self.name, cost)

    def _take(self, *, acts: bool, writes: bool) -> None:
        if self._calls_left <= (self._kept if acts else 0):
            raise SpentError("the turn has made as many calls as it may")
        if self._tokens_left <= 0 and (not writes or self._last_words):
            raise SpentError("the turn has used as many tokens as it may")
        self._calls_left -= 1
        self._last_words = self._last_words or self._tokens_left <= 0
