"""Until when a call of a model may take, known to whoever is called without being handed through: as with
`asyncio.timeout`, it holds for what is awaited in the block."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_due: ContextVar[float | None] = ContextVar("due", default=None)


@contextmanager
def due(moment: float | None) -> Iterator[None]:
    """What is awaited in the block is of no use after `moment`, in loop time. It ends nothing by itself.

    Not to be held over a `yield`: it belongs to the task that awaits.
    """
    token = _due.set(moment)
    try:
        yield
    finally:
        _due.reset(token)


def deadline() -> float | None:
    """The moment in loop time; None: nobody has set one."""
    return _due.get()
