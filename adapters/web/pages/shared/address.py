"""The filters of a list stand in the page's address, so that it can be loaded anew, kept and shared."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode

from nicegui import ui

T = TypeVar("T")

_NOTED = "history.replaceState(history.state, '', location.pathname + {query});"


def note(**values: str | list[str]) -> None:
    """Let the address say these; what is empty is left out."""
    query = urlencode({name: value for name, value in values.items() if value}, doseq=True)
    ui.run_javascript(_NOTED.format(query=json.dumps(f"?{query}" if query else "")))


def chosen(asked: Mapping[str, str], name: str, options: Mapping[T, Any], otherwise: T) -> T:
    """The option that the address names; `otherwise` where it names none of them."""
    return next((option for option in options if str(option) == asked.get(name)), otherwise)
