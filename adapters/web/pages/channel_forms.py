"""The forms of the channel: what was wrong with an answer, an expert's answer, new words, and where files go."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from nicegui import ui

from adapters import adding, teaching, voting
from adapters.web.pages.frame import saying
from adapters.web.rooms import Room
from adapters.web.site import Site, Visitor
from bot.store.messages import Message
from retrieval.text import Said

_SAVE, _CANCEL = Said(en="Save", ja="保存"), Said(en="Cancel", ja="キャンセル")
_SEND = Said(en="Send", ja="送信")
_EDIT = Said(en="Edit the message", ja="メッセージを編集")
_ADD = Said(en="Add to knowledge", ja="ナレッジに追加")
_ATTACH = Said(en="Only with my next question", ja="次の質問にだけ添付")
_FILES = Said(en="Files: {names}", ja="ファイル: {names}")
_COLLECTION = Said(en="Collection (a new name creates one)", ja="コレクション（新しい名前なら新規作成）")
_SCOPE = Said(en="Who may find it", ja="公開範囲")


class Forms:
    def __init__(self, site: Site, who: Visitor, room: Room) -> None:
        self._site = site
        self._who = who
        self._room = room
        self._ground = ui.element("div").classes(
            "kotae-ground"
        )  # a form must not vanish with the message it was opened from

    def report(self, answer: int) -> None:
        """After a 👎, which counts already: why."""
        language = self._who.language
        with self._dialog(voting.TITLE) as dialog:
            reasons = {name: said.to(language) for name, said in voting.REASONS.items()}
            reason = ui.radio(reasons).props(f'aria-label="{voting.WHY.to(language)}"')
            text = ui.textarea(voting.TEXT.to(language)).classes("full-width")
            text.props(f"outlined autogrow maxlength={voting.TEXT_CHARACTERS}")

            async def send() -> None:
                with saying(language):
                    chosen = voting.reason(reason.value)
                    kept = await self._site.web.vote(self._who.member, answer, "down", chosen, text.value or "")
                    ui.notify((voting.NOTED if kept else voting.NOT_FOUND).to(language))
                    dialog.close()

            self._buttons(dialog, _SEND, send)

    async def teach(self, card: Message) -> None:
        """An expert's answer to what a card asks."""
        language = self._who.language
        with saying(language):
            opened = await self._site.web.opened(self._who.member, card.id)
            if isinstance(opened, Said):
                ui.notify(opened.to(language), type="warning")
                return
            with self._dialog(teaching.TITLE) as dialog:
                question = ui.input(teaching.QUESTION.to(language), value=opened.question).classes("full-width")
                question.props(f"outlined maxlength={teaching.QUESTION_CHARACTERS}")
                ui.label(teaching.QUESTION_HINT.to(language)).classes("kotae-quiet")
                answer = ui.textarea(teaching.ANSWER.to(language)).classes("full-width").props("outlined autogrow")
                read_by = teaching.READ_BY_TEAM if opened.shared else teaching.READ_THERE
                ui.label(read_by.to(language)).classes("kotae-quiet")

                async def save() -> None:
                    with saying(language):
                        words = question.value.strip()
                        better = "" if words == opened.question else words
                        taught = await self._site.web.teach(
                            self._who.member, card.id, (), (answer.value or "").strip(), better
                        )
                        if taught.refusal is not None:
                            ui.notify(taught.refusal.to(language), type="warning")
                            return
                        ui.notify(teaching.SAVED.to(language, n=taught.told), type="positive")
                        dialog.close()

                self._buttons(dialog, _SAVE, save)

    def edit(self, message: Message) -> None:
        """New words for one's own message."""
        language = self._who.language
        with self._dialog(_EDIT) as dialog:
            text = ui.textarea(value=message.text).classes("full-width").props("outlined autogrow maxlength=40000")
            text.props(f'aria-label="{_EDIT.to(language)}"')

            async def save() -> None:
                with saying(language):
                    await self._site.web.edit(self._who.member, message.id, text.value or "")
                    dialog.close()

            self._buttons(dialog, _SAVE, save)

    async def add(self, files: Sequence[tuple[str, bytes]], thread: int | None, attach: Callable[[], None]) -> None:
        """What becomes of files that were dropped: knowledge, or part of the next question."""
        language, web, member = self._who.language, self._site.web, self._who.member
        collections = list(await web.collections(member, self._room))
        scopes = list(await web.scopes(member, self._room))
        with self._dialog(_ADD) as dialog:
            ui.label(_FILES.to(language, names=", ".join(name for name, _ in files)))
            collection = (
                ui.select(
                    collections, value=collections[0], label=_COLLECTION.to(language), new_value_mode="add-unique"
                )
                .classes("full-width")
                .props("use-input hide-selected fill-input input-debounce=0")
            )
            names = {scope: adding.readers_of(scope, language) for scope in scopes}
            scope = ui.select(names, value=scopes[0], label=_SCOPE.to(language)).classes("full-width")

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
                ui.button(_ADD.to(language), on_click=keep).props("unelevated no-caps")
                ui.button(_ATTACH.to(language), on_click=only_here).props("outline no-caps")
                ui.button(_CANCEL.to(language), on_click=dialog.close).props("flat no-caps")

    @contextmanager
    def _dialog(self, title: Said) -> Iterator[ui.dialog]:
        with self._ground, ui.dialog(value=True) as dialog, ui.card().classes("kotae-dialog"):
            dialog.props["aria-label"] = title.to(self._who.language)
            ui.label(title.to(self._who.language)).classes("text-h6")
            yield dialog
        dialog.on("hide", dialog.delete)

    def _buttons(self, dialog: ui.dialog, text: Said, do: Callable[[], object]) -> None:
        with ui.row():
            ui.button(text.to(self._who.language), on_click=do).props("unelevated no-caps")
            ui.button(_CANCEL.to(self._who.language), on_click=dialog.close).props("flat no-caps")
