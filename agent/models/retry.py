"""Patience with a model's provider: what may pass is tried again within the turn's time, by few at once; while the
provider is down nobody asks it but a probe.

Source: reliability.md R23; google-genai itself neither retries nor reads `RetryInfo` (python-genai #1875).
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from agent.models.base import (
    ChatModel,
    Effort,
    Message,
    ModelBusy,
    ModelError,
    ModelMessage,
    ModelProtocolError,
    ModelUnavailable,
    Part,
    Tool,
    Wrapped,
    deadline,
)

log = logging.getLogger(__name__)

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]
Failure = ModelBusy | ModelUnavailable

TRIES = 4
REPLY_SECONDS = 10.0  # a try that would have less time than this before the deadline is not made
ALTOGETHER = 120.0  # seconds for a call with all its tries, where there is no deadline

RETRY_SHARE = 0.2  # of the calls that succeeded in the last minute, how many may be second tries
FREE_RETRIES = 3  # a minute beside those, for who asks rarely
RETRY_WINDOW = 60.0

FAILURES = 5
FAILURE_WINDOW = 30.0
PROBE_EVERY = 30.0


def loop_time() -> float:
    return asyncio.get_running_loop().time()


class RetryBudget:
    """How many second tries all turns together may make: a fifth of what succeeded, so that an overload is not made
    worse by those who wait for its end."""

    def __init__(self, *, clock: Clock = loop_time) -> None:
        self._clock = clock
        self._succeeded: deque[float] = deque()
        self._retried: deque[float] = deque()

    def succeeded(self) -> None:
        now = self._clock()
        self._succeeded.append(now)
        _forget(self._succeeded, now - RETRY_WINDOW)

    def take(self) -> bool:
        """Whether one more is allowed now; it counts as made then."""
        now = self._clock()
        for times in (self._succeeded, self._retried):
            _forget(times, now - RETRY_WINDOW)
        if len(self._retried) >= FREE_RETRIES + RETRY_SHARE * len(self._succeeded):
            return False
        self._retried.append(now)
        return True


class Breaker:
    """Opens when 5 calls have failed in 30 s and no more than that have succeeded; then one call every 30 s is let
    through, and the first of these that succeeds closes it. One for all who call the same model in this process."""

    def __init__(self, *, clock: Clock = loop_time) -> None:
        self._clock = clock
        self._failed: deque[float] = deque()
        self._succeeded: deque[float] = deque()
        self._last: Failure | None = None  # why it is open
        self._probe_at = 0.0
        self._era = 0  # only a call of this era tells about the state: not one begun before it opened

    @property
    def is_open(self) -> bool:
        return self._last is not None

    def admit(self) -> int:
        """Ask before a call; what it returns is to be given to `failed` or `succeeded`. Raises what the calls before
        have failed with, while it is open."""
        if self._last is None:
            return self._era
        now = self._clock()
        if now < self._probe_at:
            raise _again(self._last)
        self._probe_at = now + PROBE_EVERY
        self._era += 1
        return self._era

    def failed(self, era: int, error: Failure) -> None:
        if era != self._era or self.is_open:
            return
        now = self._clock()
        self._failed.append(now)
        for times in (self._failed, self._succeeded):
            _forget(times, now - FAILURE_WINDOW)
        if len(self._failed) >= max(FAILURES, len(self._succeeded)):
            log.warning("%d calls of the model failed; it is left alone for a while", len(self._failed))
            self._last = error
            self._probe_at = now + PROBE_EVERY
            self._era += 1

    def succeeded(self, era: int) -> None:
        """The provider has answered, whatever its answer is worth."""
        if era != self._era:
            return
        if self.is_open:
            log.info("the model answers again")
            self._failed.clear()
            self._succeeded.clear()
            self._last = None
        now = self._clock()
        self._succeeded.append(now)
        _forget(self._succeeded, now - FAILURE_WINDOW)


def _forget(times: deque[float], before: float) -> None:
    while times and times[0] <= before:
        times.popleft()


def _again(error: Failure) -> Failure:
    text = f"not asked, since it has failed before: {error}"
    return ModelUnavailable(text, error.why) if isinstance(error, ModelUnavailable) else ModelBusy(text)


class RetryingModel(Wrapped):
    """A `ChatModel` that asks another one again when its provider was busy (429), down or too slow (408, 5xx, a broken
    connection): after what the provider demands or a random time up to 1, 2, 4 s, whichever is longer, at most 4 times.

    Only what has failed before its first part: from then on the parts are in use, and `ChatModel` promises that they
    and the message at the end are one reply. A stream that breaks later is the caller's to judge, who knows what people
    have seen (`agent.model_call.speak`). A wait that would leave less than 10 s before the deadline
    (`agent.models.base`) is not begun, so a quota of the day is not waited for. No call is made twice at a time.

    `close` the inner model, not this one. The clock is the loop's, in which deadlines are.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        breaker: Breaker | None = None,
        clock: Clock = loop_time,
        sleep: Sleep = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`chance` is evenly spread over 0..1."""
        self._model = model
        self._breaker = breaker or Breaker(clock=clock)
        self._budget = RetryBudget(clock=clock)
        self._clock = clock
        self._sleep = sleep
        self._chance = chance

    async def converse(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        schema: Mapping[str, Any] | None = None,
        effort: Effort | None = None,
    ) -> AsyncIterator[Part]:
        """As `ChatModel` says; while the breaker is open the failure comes at once."""

        async def begun() -> _Call:
            call = _Call(self._breaker)
            call.parts = cast(
                AsyncGenerator[Part, None], self._model.converse(messages, tools, schema=schema, effort=effort)
            )
            call.next = await call.read()
            return call

        call: _Call = await self._retrying()(begun)
        async with aclosing(call.parts):
            while call.next is not None:
                if isinstance(call.next, ModelMessage):
                    self._budget.succeeded()
                    self._breaker.succeeded(call.era)
                yield call.next
                call.next = await call.read()

    def _retrying(self) -> AsyncRetrying:
        given = deadline()
        ends = self._clock() + ALTOGETHER if given is None else given

        def wait(state: RetryCallState) -> float:
            assert state.outcome is not None
            error = state.outcome.exception()
            jitter = self._chance() * 2.0 ** (state.attempt_number - 1)
            return max(getattr(error, "retry_after", None) or 0.0, jitter)

        def stop(state: RetryCallState) -> bool:
            late = self._clock() + state.upcoming_sleep + REPLY_SECONDS > ends
            return state.attempt_number >= TRIES or late or not self._budget.take()

        def announce(state: RetryCallState) -> None:
            log.info("the model's provider failed; asking again in %.1f s", state.upcoming_sleep)

        return AsyncRetrying(
            retry=retry_if_exception(self._may_pass),
            wait=wait,
            stop=stop,
            before_sleep=announce,
            sleep=self._sleep,
            reraise=True,
        )

    def _may_pass(self, error: BaseException) -> bool:
        passing = isinstance(error, ModelBusy) or (
            isinstance(error, ModelUnavailable) and error.why in ("down", "timeout")
        )
        return passing and not self._breaker.is_open


class _Call:
    """One try. `next` is the part that has come and was not given on yet; None: the end."""

    parts: AsyncGenerator[Part, None]
    next: Part | None

    def __init__(self, breaker: Breaker) -> None:
        self._breaker = breaker
        self.era = breaker.admit()
        self._silent = True

    async def read(self) -> Part | None:
        try:
            part: Part | None = await anext(self.parts, None)
        except (ModelBusy, ModelUnavailable) as error:
            self._breaker.failed(self.era, error)
            raise
        except ModelError:
            self._breaker.succeeded(self.era)
            raise
        if part is None and self._silent:
            raise ModelProtocolError("the model's stream was empty")
        self._silent = False
        return part
