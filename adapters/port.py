"""What a platform provides and may ask for, nothing more."""

from contextlib import aclosing
from typing import Protocol

from agent.events import Answered, Events, Step


class ThreadView(Protocol):
    """A thread on a platform, as far as a turn writes to it."""

    async def step(self, event: Step) -> None: ...

    async def answer(self, answered: Answered) -> None: ...


async def relay(events: Events, view: ThreadView) -> None:
    """Post a turn as it happens. A post that fails ends the turn too."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Answered):
                await view.answer(event)
            else:
                await view.step(event)
