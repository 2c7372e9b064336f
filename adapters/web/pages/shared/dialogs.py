"""Dialogs that several pages open: a question before much is changed, a form with its buttons, an expert's answer."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from nicegui import ui

from adapters.shared import expert_answers
from adapters.web.pages.shared.layout import saying
from bot.types import AnswerTaken
from retrieval.i18n import Language, Text

CANCEL = Text(en="Cancel", ja="キャンセル")
_LISTED, _WORDING = 30, 200  # wordings of a form; characters of one


@contextmanager
def form(ground: ui.element, title: Text, language: Language) -> Iterator[ui.dialog]:
    """An open dialog. `ground` outlives what it was opened from, so that it stays when that is drawn anew."""
    with ground, ui.dialog(value=True) as dialog, ui.card().classes("kotae-dialog"):
        dialog.props["aria-label"] = title.to(language)
        ui.label(title.to(language)).classes("text-h6")
        yield dialog
    dialog.on("hide", dialog.delete)


def buttons(dialog: ui.dialog, text: Text, do: Callable[[], Awaitable[None]], language: Language) -> None:
    """One that does it, and one that does not."""
    with ui.row():
        ui.button(text.to(language), on_click=do).props("unelevated no-caps")
        ui.button(CANCEL.to(language), on_click=dialog.close).props("flat no-caps")


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
    answer = await dialog
    dialog.delete()
    return answer is True


def answering(
    ground: ui.element,
    asked: expert_answers.OpenedQuestion,
    save: Text,
    teach: Callable[[str, str], Awaitable[AnswerTaken]],
    language: Language,
) -> None:
    """The form for an expert's answer. `teach` gets the answer, and the question where it was put in better words."""
    with form(ground, expert_answers.TITLE, language) as dialog:
        question = ui.input(expert_answers.QUESTION.to(language), value=asked.question).classes("full-width")
        question.props(f"outlined maxlength={expert_answers.QUESTION_CHARACTERS}")
        ui.label(expert_answers.QUESTION_HINT.to(language)).classes("kotae-quiet")
        answer = ui.textarea(expert_answers.ANSWER.to(language)).classes("full-width").props("outlined autogrow")
        for note in asked.notes(language, most=_LISTED, each=_WORDING):
            ui.label(note).classes("kotae-quiet")

        async def keep() -> None:
            with saying(language):
                words = (question.value or "").strip()
                taught = await teach((answer.value or "").strip(), "" if words == asked.question else words)
                if taught.refusal is not None:
                    ui.notify(taught.refusal.to(language), type="warning")
                    return
                ui.notify(expert_answers.saved(taught, language), type="positive")
                dialog.close()

        buttons(dialog, save, keep, language)
