"""The words of courtesy, of reference and of asking in `patterns.toml`, compiled once."""

import re
import tomllib
from functools import cache
from importlib import resources


@cache
def words(kind: str) -> re.Pattern[str]:
    """The words of `kind` (a table of the file); whole words where it is written in Latin letters.

    Raises KeyError for another kind.
    """
    entries = tomllib.loads(resources.files(__package__).joinpath("patterns.toml").read_text("utf-8"))[kind]
    return re.compile(
        rf"(?<![a-z0-9])(?:{'|'.join(entries['en'])})(?![a-z0-9])|{'|'.join(entries['ja'])}", re.IGNORECASE
    )
