"""The prompts, one Markdown file each, reviewed as prose. `$name` is filled in."""

from functools import cache
from importlib import resources
from string import Template


@cache
def _template(name: str) -> Template:
    return Template(resources.files(__name__).joinpath(f"{name}.md").read_text("utf-8").strip())


def prompt(name: str, **values: str) -> str:
    """The prompt `name` with its places filled; a value is never searched for places itself.

    Raises KeyError for a place without a value, FileNotFoundError for an unknown prompt.
    """
    return _template(name).substitute(values)


def prose(name: str) -> str:
    """The prompt as it was written, places unfilled."""
    return _template(name).template
