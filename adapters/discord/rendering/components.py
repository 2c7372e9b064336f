"""Components that people press, fill in and read besides answers: the buttons under an answer, cards as Discord's
Markdown, and the modals for adding to the knowledge and for answering a card's questions.

In a card everything stands for itself, and only our own links can be followed. What a modal brings back is read from
the payload, so that one that was open over a restart is not lost. Source: product.md §4 and §5; reliability.md R15;
discord.com/developers/docs/resources/message (2,000 characters) and components/reference (labels, at most 5; menus of
25 options)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import discord

from adapters.discord.rendering.markdown import LIMIT, escaped
from adapters.markdown.events import STEPS, one_line, shortened
from adapters.shared import asking, expert_answers, ingestion
from adapters.shared.digest_cards import LISTED
from adapters.shared.feedback import DOWN, UP, Vote
from bot.types import Card, CardRow, Link
from retrieval.i18n import Language

TEMPLATE = r"kotae:vote:(?P<vote>up|down):(?P<turn>[^:]{1,80})"
ASK = r"kotae:ask:(?P<turn>[^:]{1,80}):(?P<choice>.*)"
STEPS_BUTTON = "kotae:steps"  # whose steps they are says the message that it is under
REPORT = "kotae:report:"  # and the turn: the modal that asks what was wrong


LABEL, URL = 80, 512  # characters of a button

Button = discord.ui.Button[Any]


def button(label: str, custom_id: str, style: discord.ButtonStyle = discord.ButtonStyle.secondary) -> Button:
    """`custom_id` has at most 100 characters."""
    return discord.ui.Button(label=shortened(label, LABEL), custom_id=custom_id, style=style)


def vote_button(turn: str, vote: Vote, language: Language) -> Button:
    label, emoji = (UP, "👍") if vote == "up" else (DOWN, "👎")
    return discord.ui.Button(label=label.to(language), emoji=emoji, custom_id=f"kotae:vote:{vote}:{turn}")


def ask_button(turn: str, label: str, choice: str = "") -> Button:
    """`choice`: exactly that person, or now."""
    return button(label, f"kotae:ask:{turn}:{choice}")


def feedback(turn: str, language: Language, *, person: bool = False) -> list[Button]:
    """Both votes; `person`: one can be asked, too."""
    votes = [vote_button(turn, "up", language), vote_button(turn, "down", language)]
    return [ask_button(turn, asking.LABEL.to(language)), *votes] if person else votes


def steps_button(language: Language) -> Button:
    """Shows whoever presses it the steps behind their one line."""
    return button(STEPS.to(language), STEPS_BUTTON)


MESSAGES = 3  # that one card may take
_FOOT, _ROW, _LINKS, _COUNT = 600, 1_300, 600, 40  # characters
_PIECE = 400  # of one line that has to be cut
_BLANK = "\u200b"


def card_texts(card: Card) -> list[str]:
    """The card in messages of at most 2,000 characters; rows for which there is no room are counted."""
    texts = [_fitting([f"**{escaped(card.title)}**", *map(escaped, card.lines)], _ROW)]
    foot = _fitting((f"-# {escaped(line)}" for line in card.foot), _FOOT)
    for number, row in enumerate(card.rows):
        drawn = row_text(row)
        last = len(texts) == MESSAGES
        if len(texts[-1]) + len(drawn) + 2 <= LIMIT - (len(foot) + _COUNT if last else 0):
            texts[-1] += f"\n\n{drawn}"
        elif not last:
            texts.append(drawn)
        else:
            texts[-1] += f"\n-# … +{len(card.rows) - number}"
            break
    if foot and len(texts[-1]) + len(foot) + 1 > LIMIT:
        texts.append(foot)
    elif foot:
        texts[-1] += f"\n{foot}"
    return texts


def heading(card: Card) -> str:
    """The card without its rows."""
    return card_texts(Card(card.title, card.lines, (), card.foot))[0]


def row_text(row: CardRow, *, linked: bool = True) -> str:
    """A row; `linked`: with its links, which else are buttons."""
    return _fitting(_lines(row, linked), _ROW)


def pieces(head: str, text: str) -> list[str]:
    """A person's text, after `head`, in messages; cut between lines, where those are not too long themselves."""
    found = [head]
    for line in text.strip().splitlines():
        for at in range(0, max(1, len(line)), _PIECE):
            part = escaped(line[at : at + _PIECE])
            if len(found[-1]) + len(part) + 1 <= LIMIT:
                found[-1] += part if at else f"\n{part}"
            else:
                found.append(part)
    return [piece if piece.strip() else _BLANK for piece in found]


def _lines(row: CardRow, linked: bool) -> Iterator[str]:
    yield f"**{escaped(shortened(row.text, 400))}**"
    for detail in row.details[:8]:
        yield f"-# {escaped(shortened(detail, 300))}"
    if linked and row.web_links:
        yield f"-# {' · '.join(_fitting(map(_link, row.web_links), _LINKS).splitlines())}"


def _link(link: Link) -> str:
    """`[text](<url>)`: of what is in angle brackets no preview is fetched."""
    return f"[{escaped(link.text)}](<{link.url}>)"


def _fitting(lines: Iterable[str], room: int) -> str:
    """The first lines of these, so many as there is room for."""
    shown: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    return "\n".join(shown)


TEXT_CHARACTERS = 4_000  # that a field takes
FILES = 10  # that a field takes
OPTIONS, VALUE = 25, 100  # of a menu; characters of one
FIELD = 45  # characters of a field's name


@dataclass(frozen=True, slots=True)
class File:
    """An attachment, whose address is good for a day at most."""

    id: str
    name: str
    url: str


@dataclass(frozen=True, slots=True)
class ModalInput:
    """The values of a modal, by the fields' ids; what is not there is empty. `chosen`: of fields that take several."""

    values: Mapping[str, str]
    files: tuple[File, ...]
    chosen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

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
    modal = discord.ui.Modal(title=ingestion.TITLE.to(language), custom_id=custom_id, timeout=None)
    if shown is None:
        modal.add_item(_label(ingestion.FILES.to(language), _files()))
        modal.add_item(_label(ingestion.TEXT.to(language), _text("text", TEXT_CHARACTERS, long=True)))
        modal.add_item(_label(ingestion.TEXT_TITLE.to(language), _text("title", 100)))
    else:
        modal.add_item(discord.ui.TextDisplay(escaped(shortened(shown, 500)) or "\u200b"))
    modal.add_item(
        _label(ingestion.COLLECTION.to(language), _menu("collection", [(name, name) for name in collections]))
    )
    if shown is not None:
        modal.add_item(_label(ingestion.NEW_COLLECTION.to(language), _text("new", 80)))
    if len(scopes) > 1:
        choices = [(scope, ingestion.readers_of(scope, language)) for scope in scopes]
        modal.add_item(_label(ingestion.SCOPE.to(language), _menu("scope", choices)))
    return modal


def answer_modal(language: Language, custom_id: str, opened: expert_answers.OpenedQuestion) -> discord.ui.Modal:
    modal = discord.ui.Modal(title=expert_answers.TITLE.to(language), custom_id=custom_id, timeout=None)
    question = _text("question", expert_answers.QUESTION_CHARACTERS, value=opened.question, required=True)
    answer = _text("answer", TEXT_CHARACTERS, long=True, required=True)
    modal.add_item(_label(expert_answers.QUESTION.to(language), question, expert_answers.QUESTION_HINT.to(language)))
    modal.add_item(_label(expert_answers.ANSWER.to(language), answer))
    if listed := opened.choices[: expert_answers.LISTED]:
        boxes = discord.ui.CheckboxGroup[discord.ui.Modal](custom_id="closes", required=False, min_values=0)
        for one in listed:
            boxes.add_option(label=shortened(one_line(one.question), VALUE), value=str(one.id), default=one.same)
        modal.add_item(_label(expert_answers.CLOSES.to(language), boxes, expert_answers.CLOSES_HINT.to(language)))
    notes = (f"-# {escaped(note)}" for note in opened.notes(language))
    modal.add_item(discord.ui.TextDisplay("\n".join(notes)))
    return modal


def answer_menu(card: Card, language: Language) -> discord.ui.View | None:
    """The questions of a list, of which one can be chosen to be answered; None: the card has none."""
    found = [
        discord.SelectOption(label=shortened(one_line(row.text), VALUE) or "?", value=str(action.reference))
        for row in card.rows
        for action in row.actions
        if action.kind == "answer"
    ]
    if not found:
        return None
    menu = discord.ui.View(timeout=None)
    title = expert_answers.TITLE.to(language)
    menu.add_item(discord.ui.Select(custom_id=f"kotae:{LISTED}:", placeholder=title, options=found[:OPTIONS]))
    return menu


def given(data: Mapping[str, Any]) -> ModalInput:
    """The values of a submitted modal; `data` of the interaction."""
    values: dict[str, str] = {}
    several: dict[str, tuple[str, ...]] = {}
    files: list[File] = []
    resolved = (data.get("resolved") or {}).get("attachments") or {}
    for told in _fields(data.get("components") or ()):
        name, chosen = str(told["custom_id"]), tuple(str(each) for each in told.get("values") or ())
        if name == "files":
            files += [_file(resolved[each]) for each in chosen if each in resolved]
        else:
            values[name] = (str(told.get("value") or "") or next(iter(chosen), "")).strip()
            several[name] = chosen
    return ModalInput(values, tuple(files), several)


def _fields(components: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """A field stands in a label, or in a row of its own."""
    for part in components:
        inside = [part["component"]] if "component" in part else part.get("components") or ()
        yield from (each for each in inside if each.get("custom_id"))


def _file(told: Mapping[str, Any]) -> File:
    return File(str(told["id"]), str(told.get("filename") or told["id"]), str(told["url"]))


def _label(text: str, field: discord.ui.Item[Any], hint: str | None = None) -> discord.ui.Label[discord.ui.Modal]:
    return discord.ui.Label(text=text[:FIELD], description=hint and hint[:VALUE], component=field)


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
