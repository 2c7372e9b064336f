"""A simulated user's hands on what is marked: of several the newest, as the one in an open dialog."""

from collections.abc import Iterable
from typing import Any

from nicegui import ui
from nicegui.testing import User
from nicegui.testing.user_interaction import UserInteraction


def newest(user: User, marker: str) -> ui.element:
    return _newest(user.find(marker=marker).elements)


def press(user: User, marker: str) -> None:
    """Click it."""
    UserInteraction(user, {newest(user, marker)}, None).click()


def agree(user: User, words: str) -> None:
    """Click the button with these words."""
    UserInteraction(user, {_newest(user.find(content=words, kind=ui.button).elements)}, None).click()


def fill(user: User, marker: str, value: Any) -> None:
    """Give it a value."""
    element: Any = newest(user, marker)
    with user:
        element.value = value


def choose_new(user: User, marker: str, value: str) -> None:
    """Type what a select does not have yet."""
    element: Any = newest(user, marker)
    with user:
        element.set_options([*element.options, value], value=value)


def _newest(elements: Iterable[ui.element]) -> ui.element:
    return max(elements, key=lambda element: element.id)
