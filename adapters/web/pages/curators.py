"""What the pages that change documents share: who acts, a scope in words, and a question before much is changed."""

from nicegui import ui

from adapters import adding
from adapters.web.rooms import actor, audience, place, rooms_of
from adapters.web.site import Visitor
from bot.access import scope_of
from bot.curating import Person
from retrieval.text import Language, Said

CANCEL = Said(en="Cancel", ja="キャンセル")

_ROOM = Said(en="Members of “{room}” only", ja="「{room}」のメンバーのみ")


def person(who: Visitor) -> Person:
    """The browser's member, in all their rooms."""
    rooms = rooms_of(who.member)
    return Person(actor(who.member), who.readers, tuple((place(one), audience(one)) for one in rooms), who.language)


def readers_of(scope: str, who: Visitor) -> str:
    """A scope in words."""
    for one in rooms_of(who.member):
        if scope == scope_of(place(one)):
            return _ROOM.to(who.language, room=one.name.to(who.language))
    return adding.readers_of(scope, who.language)


async def confirmed(question: str, do: str, language: Language, *, bad: bool = True) -> bool:
    """Whether they mean it. `question` may hold people's text."""
    with ui.dialog(value=True) as dialog, ui.card().classes("kotae-dialog"):
        ui.label(question).classes("kotae-pre")
        with ui.row():
            yes = ui.button(do, on_click=lambda: dialog.submit(True)).props("unelevated no-caps").mark("yes")
            if bad:
                yes.props("color=negative")
            ui.button(CANCEL.to(language), on_click=lambda: dialog.submit(False)).props("flat no-caps")
    answer = await dialog
    dialog.delete()
    return answer is True
