"""Who is next: the limit holds, channels take turns, nobody who left keeps a place."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.turns.admission import Admission, CrowdedError
from bot.types import Place


def place(channel: str) -> Place:
    return Place("terminal", "local", channel)


async def worker(admission: Admission, channel: str, log: Callable[[str], None], gate: asyncio.Event) -> None:
    with admission.join(place(channel)) as ticket:
        await ticket.called()
        log(channel)
        await gate.wait()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_channels_take_turns_whoever_asks_most() -> None:
    order: list[str] = []
    gates = [asyncio.Event() for _ in range(103)]
    admission = Admission(1)
    channels = ["busy"] * 100 + ["quiet", "silent", "quiet"]
    tasks = [asyncio.ensure_future(worker(admission, c, order.append, g)) for c, g in zip(channels, gates, strict=True)]
    await settle()
    for gate in gates:
        gate.set()
    await asyncio.gather(*tasks)
    assert order[:6] == ["busy", "busy", "quiet", "silent", "busy", "quiet"]
    assert order[6:] == ["busy"] * 97


async def test_a_ticket_tells_how_many_go_before_it() -> None:
    admission = Admission(1)
    with admission.join(place("a")) as first:
        assert (first.ahead, first.is_called) == (0, True)
        with (
            admission.join(place("a")) as second,
            admission.join(place("a")) as third,
            admission.join(place("b")) as other,
        ):
            assert (second.ahead, third.ahead, other.ahead) == (1, 2, 2)
            assert not other.is_called
    with admission.join(place("b")) as free:
        assert free.is_called


async def test_a_full_queue_says_so_at_once() -> None:
    admission = Admission(1, waiting=2)
    with (
        admission.join(place("a")),
        admission.join(place("a")),
        admission.join(place("b")),
        pytest.raises(CrowdedError),
        admission.join(place("c")),
    ):
        pass
    with admission.join(place("c")) as ticket:
        assert ticket.is_called


@given(
    at_once=st.integers(1, 4),
    moves=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["ask", "end", "cancel"])), max_size=60),
)
async def test_the_limit_holds_and_nobody_is_forgotten(at_once: int, moves: list[tuple[str, str]]) -> None:
    admission = Admission(at_once)
    running: list[tuple[str, asyncio.Event]] = []
    tasks: list[asyncio.Task[None]] = []

    async def work(channel: str) -> None:
        gate = asyncio.Event()
        with admission.join(place(channel)) as ticket:
            await ticket.called()
            running.append((channel, gate))
            try:
                await gate.wait()
            finally:
                running.remove((channel, gate))

    for channel, move in moves:
        if move == "ask":
            tasks.append(asyncio.ensure_future(work(channel)))
        elif move == "end" and running:
            running[0][1].set()
        elif move == "cancel" and tasks:
            tasks[len(tasks) // 2].cancel()
        await settle()
        open_ones = sum(not task.done() for task in tasks)
        assert len(running) == min(at_once, open_ones)
    while any(not task.done() for task in tasks):
        for _, gate in [*running]:
            gate.set()
        await settle()
    with admission.join(place("z")) as ticket:
        assert ticket.is_called
