"""The ReAct strategy: thought, action, observation until there is enough for a draft."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from agent.calling import Hands
from agent.conversation import LANGUAGES, Ask, Exchange, echoes_instructions
from agent.events import Event, Events, Thought
from agent.models.base import ChatModel, ModelMessage, ModelProtocolError, UserMessage
from agent.prompts import prompt
from agent.sentinels import DECLINED
from agent.speech import spoken
from agent.tools import ContextFunction, SearchFunction
from agent.turn import Means, StillReadable, Turn

__all__ = ["Agent", "Ask", "Exchange", "StillReadable"]

log = logging.getLogger(__name__)

IDLE_CALLS = 2  # calls that bring nothing new before the answer must be written


class Agent:
    """One object may run any number of turns at the same time. The arguments are those of `Means`."""

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
    ) -> None:
        self._max_turns = max_turns
        self._means = Means(
            model,
            search,
            fallback=fallback,
            general=general,
            confident=confident,
            reviews=reviews,
            context=context,
            still_readable=still_readable,
        )

    async def run(self, ask: Ask) -> Events:
        """The turn's steps, then exactly one `Answered`, also when the model or the search fails."""
        turn = Turn(self._means, ask)
        async with aclosing(turn.events(_Loop(turn, self._max_turns).react)) as events:
            async for event in events:
                yield event


class _Loop:
    def __init__(self, turn: Turn, max_turns: int) -> None:
        self._turn = turn
        self._max_turns = max_turns

    async def react(self, until: float | None, end: float | None) -> AsyncGenerator[Event, None]:
        """Until a reply makes no call: that is the draft."""
        turn = self._turn
        hands = Hands(turn.tools, turn.ask.language)
        reminded = False
        try:
            for _ in range(self._max_turns):
                message: ModelMessage | None = None
                async with aclosing(turn.say(turn.messages, until, tools=turn.tools)) as said:
                    async for part in said:
                        if isinstance(part, ModelMessage):
                            message = part
                        else:
                            yield part
                if message is None:
                    break
                text = spoken(message.text)
                if message.calls:
                    if text and not echoes_instructions(text):
                        yield Thought(text)  # "Let me look that up": said beside a call, it is no answer
                    async with aclosing(turn.act(message, hands, until)) as steps:
                        async for step in steps:
                            yield step
                    if hands.idle > IDLE_CALLS:
                        break
                elif not reminded and turn.should_search and not text.startswith(DECLINED):
                    reminded = True
                    reminder = prompt("search_first", language=LANGUAGES[turn.ask.language])
                    turn.messages += [message, UserMessage(reminder)]
                else:
                    turn.draft = message
                    return
        except TimeoutError:
            log.info("the time for searching is over")
        except ModelProtocolError:
            log.info("no usable reply with tools; asking for an answer without them")
        async with aclosing(turn.write(turn.finishing(), end)) as thoughts:
            async for thought in thoughts:
                yield thought
