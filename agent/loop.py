"""One question's way to its answer: think, search, draft, reflect, check; and what happens when a part of it fails."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import aclosing

from agent import outcomes
from agent.calling import Hands, Pause, speak
from agent.citing import without_marks
from agent.conversation import (
    LANGUAGES,
    QUESTION_CHARACTERS,
    Ask,
    Exchange,
    bounded,
    cut,
    echoes_instructions,
    neutral,
    opening,
)
from agent.events import (
    Answered,
    Citation,
    Cost,
    Drafted,
    Event,
    Events,
    Outcome,
    Reflected,
    Thought,
    ToolCalled,
    ToolReturned,
)
from agent.grounding import Checked, check
from agent.links import scrubbed
from agent.models.base import (
    ChatModel,
    Message,
    ModelBlocked,
    ModelError,
    ModelMessage,
    ModelProtocolError,
    ModelUnavailable,
    SystemMessage,
    Tool,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from agent.prompts import prompt
from agent.reflection import SCHEMA, reflect
from agent.routing import route
from agent.sentinels import DECLINED, NO_ANSWER, NO_RAG_RESULT, NO_RAG_RESULT_LOW_SCORE, RAG_TOOL_ERROR
from agent.speech import spoken
from agent.tools import LIST, ContextFunction, Notes, SearchFunction, list_rag_collections, search_rag_knowledge_base
from retrieval.types import Hit

__all__ = ["Agent", "Ask", "Exchange", "StillReadable"]

log = logging.getLogger(__name__)

StillReadable = Callable[[Sequence[Hit]], Awaitable[Collection[str]]]
"""Of the hits' documents the ids of those that are still there and readable."""

FINAL_SECONDS = 10.0  # kept free before the deadline, to write an answer from what is known
LAST_SECONDS = 3.0  # of those, kept free for the fall-back
IDLE_CALLS = 2  # calls that bring nothing new before the answer must be written
RULES = "extractive"  # plans by rules: what it does not search needs no search, and it reads no reminder

_SENTINELS = (NO_ANSWER, DECLINED, NO_RAG_RESULT_LOW_SCORE, NO_RAG_RESULT, RAG_TOOL_ERROR)


class Agent:
    """The ReAct strategy. One object may run any number of turns at the same time.

    `search` is bound to what the asker's readers may read. `confident` is the relevance under which a match counts as
    weak. `reviews`: how often a draft is reviewed at most. `general`: answer from general knowledge, labelled, when the
    documents do not answer.
    """

    def __init__(
        self,
        model: ChatModel,
        search: SearchFunction,
        *,
        fallback: ChatModel | None = None,
        max_turns: int = 10,
        general: bool = False,
        confident: float = 0.0,
        reviews: int = 2,
        context: ContextFunction | None = None,
        still_readable: StillReadable | None = None,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self.model = model
        self.search = search
        self.fallback = fallback
        self.max_turns = max_turns
        self.general = general
        self.confident = confident
        self.reviews = reviews
        self.context = context
        self.still_readable = still_readable
        self.pause = pause

    async def run(self, ask: Ask) -> Events:
        """The turn's steps, then exactly one `Answered`, also when the model or the search fails."""
        notes = Notes()
        search = search_rag_knowledge_base(
            self.search,
            notes,
            language=ask.language,
            collections=ask.collections,
            confident=self.confident,
            context=self.context,
        )
        tools = (search, list_rag_collections(ask.collections, language=ask.language))
        turn = _Turn(self, ask, notes, tools)
        async with aclosing(turn.events()) as events:
            async for event in events:
                yield event


class _Turn:
    """The state of one run."""

    def __init__(self, agent: Agent, ask: Ask, notes: Notes, tools: Sequence[Tool]) -> None:
        self._agent = agent
        self._ask = ask
        self._notes = notes
        self._tools = tools
        self._messages: list[Message] = opening(ask)
        self._cost = Cost()
        self._model: ChatModel = agent.model
        self._failure: ModelError | None = None
        self._draft: ModelMessage | None = None
        self._listed = False
        self._called = False  # a search was asked for, well or badly: what follows must rest on results
        clock = asyncio.get_running_loop().time
        self._clock = clock
        self._started = clock()
        total = None if ask.deadline is None else max(0.0, ask.deadline - self._started)
        reserve = min(FINAL_SECONDS, (total or 0.0) / 3)
        last = min(LAST_SECONDS, reserve / 3) if agent.fallback else 0.0
        self._loop_ends = None if ask.deadline is None else ask.deadline - reserve
        self._model_ends = None if ask.deadline is None else ask.deadline - last

    async def events(self) -> Events:
        try:
            async with aclosing(self._think()) as steps:
                async for step in steps:
                    yield step
        except ModelBlocked:
            yield self._answered(outcomes.DECLINED.to(self._ask.language), "declined")
            return
        except ModelError as error:
            log.warning("the turn ends without a model: %s", type(error).__name__)
            yield self._answered(outcomes.failed(self._failure or error, self._ask.language), "failed")
            return
        async with aclosing(self._conclude()) as conclusion:
            async for event in conclusion:
                yield event

    # -- thinking -------------------------------------------------------------------------------------------------------

    async def _think(self) -> AsyncGenerator[Event, None]:
        """Run the loop until there is a draft; with the fall-back when the model fails."""
        try:
            async with aclosing(self._react(self._loop_ends, self._model_ends)) as steps:
                async for step in steps:
                    yield step
            return
        except ModelBlocked:
            raise
        except ModelError as error:
            if self._agent.fallback is None:
                raise
            log.warning("the model failed (%s: %s); the fall-back takes over", type(error).__name__, error)
            self._failure = error
        self._model = self._agent.fallback
        self._messages = neutral(self._ask, self._messages)
        async with aclosing(self._react(self._ask.deadline, self._ask.deadline)) as steps:
            async for step in steps:
                yield step

    async def _react(self, until: float | None, end: float | None) -> AsyncGenerator[Event, None]:
        """Thought, action, observation, until a reply makes no call: that is the draft."""
        hands = Hands(self._tools, self._ask.language)
        reminded = self._model.name == RULES
        try:
            for _ in range(self._agent.max_turns):
                message: ModelMessage | None = None
                async with aclosing(self._say(self._messages, self._tools, until)) as said:
                    async for part in said:
                        if isinstance(part, ModelMessage):
                            message = part
                        else:
                            yield part
                if message is None:
                    break
                if message.calls:
                    async with aclosing(self._act(message, hands, until)) as steps:
                        async for step in steps:
                            yield step
                    if hands.idle > IDLE_CALLS:
                        break
                elif not reminded and self._should_have_searched(message):
                    reminded = True
                    reminder = prompt("search_first", language=LANGUAGES[self._ask.language])
                    self._messages += [message, UserMessage(reminder)]
                else:
                    self._draft = message
                    return
        except TimeoutError:
            log.info("the time for searching is over")
        except ModelProtocolError:
            log.info("no usable reply with tools; asking for an answer without them")
        async with aclosing(self._write(end)) as said:
            async for part in said:
                if isinstance(part, ModelMessage):
                    self._draft = part
                else:
                    yield part

    async def _write(self, end: float | None) -> AsyncGenerator[Thought | ModelMessage, None]:
        """The answer from what is known, without tools."""
        final = UserMessage(prompt("final", language=LANGUAGES[self._ask.language]))
        try:
            async with aclosing(self._say([*self._messages, final], (), end)) as said:
                async for part in said:
                    yield part
        except TimeoutError as error:
            raise ModelUnavailable("no answer before the deadline", "timeout") from error

    async def _say(
        self, messages: Sequence[Message], tools: Sequence[Tool], until: float | None
    ) -> AsyncGenerator[Thought | ModelMessage, None]:
        said = speak(self._model, bounded(messages), tools, until=until, pause=self._agent.pause)
        async with aclosing(said) as parts:
            async for part in parts:
                if isinstance(part, ModelMessage):
                    self._cost += part.cost
                yield part

    async def _act(self, message: ModelMessage, hands: Hands, until: float | None) -> AsyncGenerator[Event, None]:
        aside = spoken(message.text)
        if aside:
            yield Thought(aside)  # "Let me look that up": said beside a call, it is no answer
        self._listed = self._listed or any(call.name == LIST for call in message.calls)
        self._called = self._called or any(call.name != LIST for call in message.calls)
        for call in message.calls:
            yield ToolCalled(call.id, call.name, _shortened(call))
        async with asyncio.timeout_at(until):
            results = await hands.run(message.calls)
        for call, result in zip(message.calls, results, strict=True):
            yield ToolReturned(call.id, call.name, result.summary, result.hits, result.failed)
        self._messages += [message, ToolMessage(tuple(zip(message.calls, results, strict=True)))]

    def _should_have_searched(self, message: ModelMessage) -> bool:
        text = spoken(message.text)
        if self._searched or self._listed or text.startswith(DECLINED):
            return False
        return route(self._ask.question, self._ask.collections).search

    @property
    def _searched(self) -> bool:
        return self._called or self._notes.tried > 0

    # -- concluding -----------------------------------------------------------------------------------------------------

    async def _conclude(self) -> AsyncGenerator[Event, None]:
        """Draft → reflection → check → answer."""
        language = self._ask.language
        draft = spoken(self._draft.text) if self._draft else ""
        if self._notes.failures and not self._notes.searches:  # an outage, not a question without an answer
            reason = self._notes.failures[-1].text(language)
            yield self._answered(outcomes.SEARCH_FAILED.to(language, reason=reason), "failed")
            return
        if draft.startswith(DECLINED) or echoes_instructions(draft):
            reply = "" if echoes_instructions(draft) else _clean(draft)
            yield self._answered(scrubbed(without_marks(reply), ()) or outcomes.DECLINED.to(language), "declined")
            return
        if draft.startswith(NO_ANSWER) or not _clean(draft):
            yield await self._unknown()
            return
        draft = _clean(draft)
        yield Drafted(draft)
        if not self._searched:
            text = scrubbed(without_marks(draft), ())
            yield self._answered(text or outcomes.DECLINED.to(language), "answered" if text else "declined")
            return
        judged = False
        async with aclosing(reflect(self._review, self._reviewed(), self._ask, self._agent.reviews)) as reviews:
            async for review in reviews:
                yield Reflected(review.verdict, review.critique)
                judged = True
                if review.verdict == "reject" or spoken(review.answer).startswith(NO_ANSWER):
                    yield await self._unknown()
                    return
                draft = _clean(spoken(review.answer)) or draft
        if echoes_instructions(draft):
            yield self._answered(outcomes.DECLINED.to(language), "declined")
            return
        result = await self._checked(draft, judged)
        yield self._grounded(result) if result.text else await self._unknown()

    def _reviewed(self) -> list[Message]:
        return [*self._messages, *([self._draft] if self._draft else [])]

    async def _review(self, messages: Sequence[Message]) -> ModelMessage:
        """One call for a review: the tools stay declared, as the conversation is about them, but none is called."""
        said = speak(
            self._model,
            bounded(messages),
            self._tools,
            schema=SCHEMA,
            until=self._model_ends,
            pause=self._agent.pause,
        )
        async with aclosing(said) as parts:
            async for part in parts:
                if isinstance(part, ModelMessage):
                    self._cost += part.cost
                    return part
        raise ModelProtocolError("a review without a message")

    async def _checked(self, draft: str, judged: bool) -> Checked:
        """The check in code, against what is still there and readable at this moment."""
        hits, context = self._notes.hits, self._notes.context
        if self._agent.still_readable is not None and hits:
            there = await self._agent.still_readable(tuple(hits.values()))
            hits = {n: hit for n, hit in hits.items() if hit.passage.document_id in there}
        around = {n: passages for n, passages in context.items() if n in hits}
        return await asyncio.to_thread(
            check, draft, hits, self._ask.language, question=self._ask.question, context=around, judged=judged
        )

    def _grounded(self, result: Checked) -> Answered:
        text = result.text
        if self._draft is not None and self._draft.cut:
            text += "\n\n" + outcomes.CUT_OFF.to(self._ask.language)
        best = max((self._notes.hits[n].relevance for n in result.cited), default=self._notes.best)
        return self._answered(text, "answered", result.citations, confidence=best, marked=bool(result.marked))

    async def _unknown(self) -> Answered:
        """Not found, and where it was looked for; with an answer from general knowledge if that is wanted."""
        text = outcomes.unknown(self._ask.language, tuple(self._notes.searched))
        if self._agent.general and self._failure is None:
            general = await self._from_general_knowledge()
            if general:
                text += f"\n\n{outcomes.GENERAL.to(self._ask.language)}\n\n{general}"
        return self._answered(text, "unknown", confidence=self._notes.best if self._searched else None)

    async def _from_general_knowledge(self) -> str:
        """Empty when the model has none, or fails: the turn has its outcome already."""
        instructions = prompt("general", language=LANGUAGES[self._ask.language])
        system = SystemMessage(instructions, self._ask.language)
        said = ""
        try:
            async with aclosing(
                self._say([system, UserMessage(cut(self._ask.question, QUESTION_CHARACTERS))], (), self._model_ends)
            ) as parts:
                async for part in parts:
                    if isinstance(part, ModelMessage):
                        said = spoken(part.text)
        except (ModelError, TimeoutError) as error:
            log.info("no answer from general knowledge: %s", type(error).__name__)
        if said.startswith((NO_ANSWER, DECLINED)) or echoes_instructions(said):
            return ""
        return scrubbed(without_marks(_clean(said)), ())

    def _answered(
        self,
        text: str,
        outcome: Outcome,
        citations: tuple[Citation, ...] = (),
        *,
        confidence: float | None = None,
        marked: bool = False,
    ) -> Answered:
        if self._failure is not None and outcome != "failed":
            text += "\n\n" + outcomes.notice(self._failure, self._ask.language)
        return Answered(
            text,
            citations,
            outcome,
            model=self._model.name,
            seconds=self._clock() - self._started,
            cost=self._cost,
            searched=tuple(self._notes.searched),
            confidence=confidence,
            marked=marked,
        )


def _clean(text: str) -> str:
    """A draft without the marks that are only for us."""
    for mark in _SENTINELS:
        text = text.replace(mark, "")
    return text.strip()


def _shortened(call: ToolCall) -> dict[str, object]:
    """The arguments as they are shown and stored: an overlong one is cut."""
    return {
        str(key)[:100]: value if not isinstance(value, str) or len(value) <= 500 else value[:499] + "…"
        for key, value in list(call.arguments.items())[:10]
    }
