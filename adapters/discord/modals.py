"""The modals: for adding to the knowledge, and for answering a card's questions. What comes back is read from the payload,
so that a modal that was open over a restart is not lost.

Source: product.md §4 and §5; discord.com/developers/docs/components/reference (labels, at most 5; menus of 25 options).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import discord

from adapters import adding, teaching
from adapters.discord.dialect import escaped
from adapters.markdown import shortened
from retrieval.text import Language

TEXT_CHARACTERS = 4_000  # that a field takes
FILES = 10  # that a field takes
OPTIONS, VALUE = 25, 100  # of a menu; characters of one
LABEL = 45


@dataclass(frozen=True, slots=True)
class File:
    """An attachment, whose address is good for a day at most."""

    id: str
    name: str
    url: str


@dataclass(frozen=True, slots=True)
class Given:
    """What was filled into a modal, by the fields' ids; what is not there is empty."""

    values: Mapping[str, str]
    files: tuple[File, ...]

    def __getitem__(self, field: str) -> str:
        return self.values.get(field, "")


def ingest_modal(
    language: Language,
    custom_id: str,
    *,
    collections: Sequence[str],
    scopes: Sequence[str],
    shown: str | None = None,
) -> discord.ui.Modal:
    """`shown`: the message that is added; else files or a text are asked for. What comes first is chosen already."""
    modal = discord.ui.Modal(title=adding.TITLE.to(language), custom_id=custom_id, timeout=None)
    if shown is None:
        modal.add_item(_label(adding.FILES.to(language), _files()))
        modal.add_item(_label(adding.TEXT.to(language), _text("text", TEXT_CHARACTERS, long=True)))
        modal.add_item(_label(adding.TEXT_TITLE.to(language), _text("title", 100)))
    else:
        modal.add_item(discord.ui.TextDisplay(escaped(shortened(shown, 500)) or "\u200b"))
    modal.add_item(_label(adding.COLLECTION.to(language), _menu("collection", [(name, name) for name in collections])))
    if shown is not None:
        modal.add_item(_label(adding.NEW_COLLECTION.to(language), _text("new", 80)))
    if len(scopes) > 1:
        choices = [(scope, adding.readers_of(scope, language)) for scope in scopes]
        modal.add_item(_label(adding.SCOPE.to(language), _menu("scope", choices)))
    return modal


def answer_modal(language: Language, custom_id: str, opened: teaching.Opened) -> discord.ui.Modal:
    modal = discord.ui.Modal(title=teaching.TITLE.to(language), custom_id=custom_id, timeout=None)
    question = _text("question", teaching.QUESTION_CHARACTERS, value=opened.question, required=True)
    answer = _text("answer", TEXT_CHARACTERS, long=True, required=True)
    modal.add_item(_label(teaching.QUESTION.to(language), question, teaching.QUESTION_HINT.to(language)))
    modal.add_item(_label(teaching.ANSWER.to(language), answer))
    notes = (f"-# {escaped(note)}" for note in opened.notes(language))
    modal.add_item(discord.ui.TextDisplay("\n".join(notes)))
    return modal


def given(data: Mapping[str, Any]) -> Given:
    """What a submitted modal holds; `data` of the interaction."""
    values: dict[str, str] = {}
    files: list[File] = []
    resolved = (data.get("resolved") or {}).get("attachments") or {}
    for field in _fields(data.get("components") or ()):
        chosen = [str(each) for each in field.get("values") or ()]
        if field["custom_id"] == "files":
            files += [_file(resolved[each]) for each in chosen if each in resolved]
        else:
            values[field["custom_id"]] = (str(field.get("value") or "") or next(iter(chosen), "")).strip()
    return Given(values, tuple(files))


def _fields(components: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """A field stands in a label, or in a row of its own."""
    for part in components:
        inside = [part["component"]] if "component" in part else part.get("components") or ()
        yield from (each for each in inside if each.get("custom_id"))


def _file(told: Mapping[str, Any]) -> File:
    return File(str(told["id"]), str(told.get("filename") or told["id"]), str(told["url"]))


def _label(text: str, field: discord.ui.Item[Any], hint: str | None = None) -> discord.ui.Label[discord.ui.Modal]:
    return discord.ui.Label(text=text[:LABEL], description=hint and hint[:VALUE], component=field)


def _files() -> discord.ui.FileUpload[discord.ui.Modal]:
    return discord.ui.FileUpload(custom_id="files", required=False, min_values=0, max_values=FILES)


def _text(
    field: str, most: int, *, long: bool = False, value: str | None = None, required: bool = False
) -> discord.ui.TextInput[discord.ui.Modal]:
    style = discord.TextStyle.paragraph if long else discord.TextStyle.short
    return discord.ui.TextInput(custom_id=field, style=style, max_length=most, default=value, required=required)


def _menu(field: str, choices: Sequence[tuple[str, str]]) -> discord.ui.Select[discord.ui.Modal]:
    """With its first choice chosen. A value that would have to be cut would be another one: it is left out."""
    fitting = [(value, shown) for value, shown in choices if len(value) <= VALUE][:OPTIONS]
    options = [
        discord.SelectOption(label=shortened(shown, VALUE) or value, value=value, default=number == 0)
        for number, (value, shown) in enumerate(fitting)
    ]
    return discord.ui.Select(custom_id=field, options=options, required=True)
