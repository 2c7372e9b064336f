"""The forms of the channel: what was wrong with an answer, an expert's answer, new words, and where files go."""

from collections.abc import Callable, Sequence

from nicegui import ui

from adapters.shared import expert_answers, feedback, ingestion
from adapters.web.channel.rooms import Room
from adapters.web.pages.shared.components import collection_select, once
from adapters.web.pages.shared.dialogs import CANCEL, SAVE, answering, buttons, confirmed, form
from adapters.web.pages.shared.layout import saying
from adapters.web.visitor import Site, Visitor
from bot.records import RoomMessage
from bot.texts import COMPLAINTS
from bot.types import AnswerTaken
from retrieval.i18n import Text

_SEND = Text(en="Send", ja="送信")
_EDIT = Text(en="Edit the message", ja="メッセージを編集")
DELETE = Text(en="Delete", ja="削除")
_SURE = Text(
    en="Delete this message? An answer to it goes with it, and neither can be brought back.",
    ja="このメッセージを削除しますか？回答も一緒に削除され、元に戻せません。",
)
_ADD = Text(en="Add to knowledge", ja="ナレッジに追加")
_ATTACH = Text(en="Only with my next question", ja="次の質問にだけ添付")
_FILES = Text(en="Files: {names}", ja="ファイル: {names}")


class Forms:
    def __init__(self, site: Site, who: Visitor, room: Room) -> None:
        self._site = site
        self._who = who
        self._room = room
        self._ground = ui.element("div").classes("kotae-ground")  # forms outlive the messages they were opened from

    def report(self, answer: int) -> None:
        """After a 👎, which counts already: why."""
        language = self._who.language
        with form(self._ground, feedback.TITLE, language) as dialog:
            reasons = {name: said.to(language) for name, said in COMPLAINTS.items()}
            reason = ui.radio(reasons).props(f'aria-label="{feedback.WHY.to(language)}"')
            text = ui.textarea(feedback.TEXT.to(language)).classes("full-width")
            text.props(f"outlined autogrow maxlength={feedback.TEXT_CHARACTERS}")

            async def send() -> None:
                with saying(language):
                    chosen = feedback.reason(reason.value)
                    kept = await self._site.web.vote(self._who.member, answer, "down", chosen, text.value or "")
                    ui.notify((feedback.NOTED if kept else feedback.NOT_FOUND).to(language))
                    dialog.close()

            buttons(dialog, _SEND, send, language)

    async def teach(self, card: RoomMessage) -> None:
        """An expert's answer to what a card asks."""
        language = self._who.language
        with saying(language):
            opened = await self._site.web.opened(self._who.member, card.id)
            if isinstance(opened, Text):
                ui.notify(opened.to(language), type="warning")
                return

            async def teach(answer: str, better: str, chosen: expert_answers.Ticks) -> AnswerTaken:
                return await self._site.web.teach(self._who.member, card.id, answer, better, opened.reference, chosen)

            answering(self._ground, opened, SAVE, teach, language)

    def edit(self, message: RoomMessage) -> None:
        """New words for one's own message."""
        language = self._who.language
        with form(self._ground, _EDIT, language) as dialog:
            text = ui.textarea(value=message.text).classes("full-width").props("outlined autogrow maxlength=40000")
            text.props(f'aria-label="{_EDIT.to(language)}"')

            async def save() -> None:
                with saying(language):
                    await self._site.web.edit(self._who.member, message.id, text.value or "")
                    dialog.close()

            buttons(dialog, SAVE, save, language)

    async def delete(self, message: RoomMessage) -> None:
        """One's own message, if that is meant."""
        language = self._who.language
        with self._ground, saying(language):
            if await confirmed(_SURE.to(language), DELETE.to(language), language):
                await self._site.web.delete(self._who.member, message.id)

    async def add(self, files: Sequence[tuple[str, bytes]], thread: int | None, attach: Callable[[], None]) -> None:
        """Takes in files that were dropped: knowledge, or part of the next question."""
        language, web, member = self._who.language, self._site.web, self._who.member
        collections = list(await web.collections(member, self._room))
        scopes = list(await web.scopes(member, self._room))
        with form(self._ground, _ADD, language) as dialog:
            ui.label(_FILES.to(language, names=", ".join(name for name, _ in files)))
            collection = collection_select(collections, collections[0], language).classes("full-width")
            names = {scope: ingestion.readers_of(scope, language) for scope in scopes}
            scope = ui.select(names, value=scopes[0], label=ingestion.SCOPE.to(language)).classes("full-width")

            async def keep() -> None:
                with saying(language):
                    await web.add_files(
                        member, self._room, files, collection.value or "", scope.value, thread, language=language
                    )
                    dialog.close()

            def only_here() -> None:
                attach()
                dialog.close()

            with ui.row():
                ui.button(_ADD.to(language), on_click=once(keep)).props("unelevated no-caps")
                ui.button(_ATTACH.to(language), on_click=only_here).props("outline no-caps")
                ui.button(CANCEL.to(language), on_click=dialog.close).props("flat no-caps")
