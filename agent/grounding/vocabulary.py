"""The word lists of the check, from `words.toml`, as patterns."""

import re
import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def _lists(file: str = "words") -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(f"{file}.toml").read_text("utf-8"))


@cache
def pattern(name: str) -> re.Pattern[str]:
    """The list `name` in both languages as one pattern. Raises KeyError for an unknown list."""
    table = _lists()[name]
    english = "|".join(table["en"])
    parts = [*table["ja"], *([rf"\b(?:{english})\b"] if english else [])]
    return re.compile("|".join(parts), re.IGNORECASE)


@cache
def words(name: str) -> frozenset[str]:
    """The words of the list `name` in both languages. Raises KeyError for an unknown list."""
    return frozenset(word for line in _lists()[name].values() for word in line.split())


def by_unit(name: str) -> str:
    """The forms of a table of `quantities.toml`, in their order, each as a group of its unit's name: a text is gone
    over once for all of them."""
    forms = _lists("quantities")[name].items()
    return "|".join(f"(?P<{unit}>{form})" for unit, form in forms).replace("\n", "")
