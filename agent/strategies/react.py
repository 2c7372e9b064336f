"""The ReAct strategy: thought, action, observation until there is enough for a draft."""

import logging
from contextlib import suppress
from functools import partial
from typing import Any

from agent.conversation import Ask, Exchange, echoes_instructions
from agent.events import Events, Thought
from agent.model_call import spoken
from agent.models.base import ChatModel, ModelProtocolError
from agent.run import Run, RunConfig, answers, refuses
from agent.tools import SearchFunction

__all__ = ["Agent", "Ask", "Exchange"]

log = logging.getLogger(__name__)

IDLE_CALLS = 2  # calls that bring nothing new before the answer must be written


class Agent:
    """One object may run any number of turns at the same time. `options` are the other fields of `RunConfig`."""

    def __init__(self, model: ChatModel, search: SearchFunction, *, max_turns: int = 10, **options: Any) -> None:
        self._config = RunConfig(model, search, **options)
        self._max_turns = max_turns

    def run(self, ask: Ask) -> Events:
        """The turn's steps, then exactly one `Answered`, also when the model or the search fails."""
        run = Run(self._config, ask)
        return run.events(partial(self._react, run))

    async def _react(self, run: Run, until: float | None, end: float | None) -> None:
        """Until a reply makes no call and rests on a search: that is the draft."""
        try:
            for _ in range(self._max_turns):
                if run.model.tools is False and run.must_search():
                    message = run.own_search()
                else:
                    message = await run.say(run.messages, until, tools=run.tools)
                text = spoken(message.text)
                if message.calls:
                    if text and not echoes_instructions(text):
                        run.emit(Thought(text))  # "Let me look that up": said beside a call, it is no answer
                elif run.must_search(text) and not refuses(text):
                    message = run.own_search()
                elif answers(message):
                    run.draft = message
                    return
                else:
                    break
                await run.act(message, until)
                if run.runner.idle > IDLE_CALLS:
                    break
        except TimeoutError:
            log.info("the time for searching is over")
        except ModelProtocolError:
            log.info("no usable reply with tools; asking for an answer without them")
        if run.must_search():
            with suppress(TimeoutError):
                await run.act(run.own_search(), end)
        await run.finish(end)
