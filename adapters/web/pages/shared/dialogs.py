"""Dialogs that several pages open: a question before much is changed, a form with its buttons, an expert's answer."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from nicegui import ui

from adapters.markdown.events import one_line, shortened
from adapters.shared import expert_answers
from adapters.web.pages.shared.components import once
from adapters.web.pages.shared.layout import saying
from bot.types import AnswerTaken
from retrieval.i18n import Language, Text

CANCEL, SAVE = Text(en="Cancel", ja="キャンセル"), Text(en="Save", ja="保存")
_WORDING = 200  # characters of a question to tick

# An answer that is being written is kept until it is saved.
_KEPT = """() => kotaeKeep(document.getElementById("c{id}").closest(".q-field").querySelector("textarea"),
 "kotae-answer:{key}", "")"""
_SAVED = """[sessionStorage, localStorage].map((kept) => kept.removeItem("kotae-answer:{key}"));"""


@contextmanager
def form(ground: ui.element, title: Text, language: Language) -> Iterator[ui.dialog]:
    """An open dialog. `ground` outlives what it was opened from, so that it stays when that is drawn anew."""
    with ground, ui.dialog(value=True) as dialog, ui.card().classes("kotae-dialog"):
        dialog.props["aria-label"] = title.to(language)
        ui.label(title.to(language)).classes("text-h6")
        yield dialog
    dialog.on("hide", dialog.delete)


def buttons(dialog: ui.dialog, text: Text, do: Callable[[], Awaitable[None]], language: Language) -> ui.button:
    """One that does it, which is returned, and one that does not. A double click does it once."""

    async def act() -> None:
        if dialog.value:
            await do()

    with ui.row():
        button = ui.button(text.to(language), on_click=once(act)).props("unelevated no-caps")
        ui.button(CANCEL.to(language), on_click=dialog.close).props("flat no-caps")
    return button


async def confirmed(question: str, do: str, language: Language, *, bad: bool = True) -> bool:
    """Whether they mean it. `question` may hold people's text."""
    with ui.dialog(value=True) as dialog, ui.card().classes("kotae-dialog"):
        dialog.props["aria-label"] = do
        ui.label(question).classes("kotae-pre")
        with ui.row():
            yes = ui.button(do, on_click=lambda: dialog.submit(True)).props("unelevated no-caps").mark("yes")
            if bad:
                yes.props("color=negative")
            ui.button(CANCEL.to(language), on_click=lambda: dialog.submit(False)).props("flat no-caps")
    dialog.on("hide", dialog.delete)  # not before: whoever is at a keyboard goes on from where they were
    answer = await dialog
    dialog.clear()
    return answer is True


def answering(
    ground: ui.element,
    asked: expert_answers.OpenedQuestion,
    save: Text,
    teach: Callable[[str, str, expert_answers.Ticks], Awaitable[AnswerTaken]],
    language: Language,
) -> None:
    """The form for an expert's answer. `teach` gets the answer, the question where it was put in better words, and the
    ticks."""
    with form(ground, expert_answers.TITLE, language) as dialog:
        question = ui.input(expert_answers.QUESTION.to(language), value=asked.question).classes("full-width")
        question.props(f"outlined maxlength={expert_answers.QUESTION_CHARACTERS}")
        ui.label(expert_answers.QUESTION_HINT.to(language)).classes("kotae-quiet")
        answer = ui.textarea(expert_answers.ANSWER.to(language)).classes("full-width").props("outlined autogrow")
        dialog.on("show", js_handler=_KEPT.format(id=answer.id, key=asked.reference))
        boxes: dict[int, ui.checkbox] = {}
        if asked.choices:
            ui.label(expert_answers.CLOSES.to(language))
            with ui.column().classes("kotae-choices full-width"):
                for one in asked.choices:
                    boxes[one.id] = ui.checkbox(shortened(one_line(one.question), _WORDING), value=one.same)
            ui.label(expert_answers.CLOSES_HINT.to(language)).classes("kotae-quiet")
        for note in asked.notes(language, listed=len(asked.choices)):
            ui.label(note).classes("kotae-quiet")

        async def keep() -> None:
            with saying(language):
                words = (question.value or "").strip()
                ticked = expert_answers.ticks(boxes, [number for number, box in boxes.items() if box.value])
                taught = await teach((answer.value or "").strip(), "" if words == asked.question else words, ticked)
                if taught.refusal is not None:
                    ui.notify(taught.refusal.to(language), type="warning")
                    return
                ui.notify(expert_answers.saved(taught, language), type="positive")
                ui.run_javascript(_SAVED.format(key=asked.reference))
                dialog.close()

        buttons(dialog, save, keep, language)
