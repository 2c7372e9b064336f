"""A simulated user's hands on what is marked: of several the newest, as the one in an open dialog."""

from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments, handle_event
from nicegui.testing import User


def newest(user: User, marker: str) -> ui.element:
    return max(user.find(marker=marker).elements, key=lambda element: element.id)


def press(user: User, marker: str) -> None:
    """Click it."""
    element = newest(user, marker)
    with user as client:
        for listener in [*element._event_listeners.values()]:
            if listener.type == "click":
                handle_event(listener.handler, GenericEventArguments(sender=element, client=client, args=None))


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
