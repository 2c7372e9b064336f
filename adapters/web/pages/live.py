"""Cards that follow what they show without being drawn anew, so that what somebody has opened or pressed stays."""

from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

from nicegui import ui

Value = TypeVar("Value")
Shown = TypeVar("Shown", contravariant=True)


class Card(Protocol[Shown]):
    @property
    def root(self) -> ui.element: ...

    def put(self, value: Shown) -> None:
        """Show it as it is now."""
        ...


class Cards(Generic[Value]):
    """The cards in a column, by their key. `make` makes one where it is called; it is filled by `put`."""

    def __init__(self, column: ui.element, make: Callable[[], Card[Value]]) -> None:
        self._column = column
        self._make = make
        self._cards: dict[str, Card[Value]] = {}

    def show(self, values: Mapping[str, Value]) -> None:
        """These, in this order; those that stay keep theirs among themselves."""
        for key in [key for key in self._cards if key not in values]:
            self._cards.pop(key).root.delete()
        for at, (key, value) in enumerate(values.items()):
            card = self._cards.get(key)
            if card is None:
                with self._column:
                    card = self._cards[key] = self._make()
                if at < len(self._cards) - 1:
                    card.root.move(target_index=at)
            card.put(value)
