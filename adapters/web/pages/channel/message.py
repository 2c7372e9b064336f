"""How a message of the channel is drawn, by its kind: what people write, steps, answers with their sources, cards.

What anybody wrote goes through text elements or `markdown.html` only.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from nicegui import ui

from adapters.markdown.events import SOURCES, pointer, source_place
from adapters.shared import asking, expert_answers, feedback
from adapters.web.channel import digest
from adapters.web.channel.context import name_of
from adapters.web.pages.channel.forms import DELETE, Forms
from adapters.web.pages.shared import components, dialogs
from adapters.web.pages.shared.layout import saying
from adapters.web.visitor import Site, Visitor
from agent.events import EXTRACTIVE, Outcome
from bot.records import BOT, RoomMessage, RoomReplies
from bot.texts import OUTCOMES
from bot.types import Card, CardRow
from retrieval.i18n import Language, Text

Follow = Callable[[Mapping[int, RoomReplies] | None], Awaitable[None]]
_Voting = Callable[[], Awaitable[None]]  # shows the votes of now

_NAME = "Kotae"
_EDITED = Text(en="(edited)", ja="（編集済み）")
_DELETED = Text(en="This message was deleted.", ja="このメッセージは削除されました。")
_REPLIES = Text(en="{n} repl{n:y|ies}", ja="返信 {n} 件")
_REPLY = Text(en="Reply", ja="返信する")
_EDIT = Text(en="Edit", ja="編集")
_TRACE = Text(en="How I found this", ja="回答の過程")
_GONE = Text(
    en="This document is no longer available in this room.", ja="この文書は、このルームではもう閲覧できません。"
)


class Drawing:
    """Draws for one visitor. `open_thread` shows the thread of a root."""

    def __init__(self, site: Site, who: Visitor, forms: Forms, open_thread: Callable[[int], Awaitable[None]]) -> None:
        self.site = site
        self.who = who
        self._forms = forms
        self._open_thread = open_thread

    @property
    def language(self) -> Language:
        return self.who.language

    async def draw(self, message: RoomMessage, replies: Mapping[int, RoomReplies] | None) -> Follow:
        """A message as it is now, in the element that is open. `replies`: what stands under the room's messages; None:
        it is drawn in its thread. Returned is what shows the votes and replies of later, without drawing the message
        anew. Raises StoreError."""
        ours = message.author == BOT
        voting: _Voting | None = None
        under: ui.button | None = None
        with ui.row().classes("kotae-line"):
            ui.label("答" if ours else name_of(message.author, self.language)[:1]).classes("kotae-face").classes(
                "kotae-face-bot" if ours else ""
            ).props("aria-hidden=true")
            with ui.column().classes("kotae-said"):
                with ui.row().classes("kotae-by"):
                    ui.label(_NAME if ours else name_of(message.author, self.language)).classes("text-weight-bold")
                    components.When(self.who, message.created_at, "%m-%d %H:%M").classes("kotae-quiet")
                    if message.edited_at is not None:
                        ui.label(_EDITED.to(self.language)).classes("kotae-quiet")
                if message.deleted_at is not None:
                    ui.label(_DELETED.to(self.language)).classes("kotae-quiet")
                else:
                    voting = self._content(message)
                if replies is not None:
                    under = ui.button(on_click=lambda: self._open_thread(message.id))
                    under.props("flat dense no-caps").classes("kotae-replies")

        async def follow(replies: Mapping[int, RoomReplies] | None) -> None:
            if voting is not None:
                await voting()
            if under is not None and replies is not None:
                found = replies.get(message.id)
                said = _REPLY.to(self.language) if found is None else _REPLIES.to(self.language, n=found.count)
                under.set_text(said)

        await follow(replies)
        return follow

    def _content(self, message: RoomMessage) -> _Voting | None:
        match message.kind:
            case "steps":
                self._steps(message)
            case "answer":
                return self._answer(message)
            case "card":
                self._card_message(message)
            case "confirm":
                self._confirm(message)
            case "system":
                self.card(Card(message.data["title"], tuple(message.data["lines"]), (), tuple(message.data["foot"])))
            case "intake":
                ui.label(message.text).classes("kotae-pre")
                if message.data["done"] < message.data["total"]:
                    ui.linear_progress(message.data["done"] / message.data["total"], show_value=False)
            case _:
                components.prose(message.text)
                if message.kind == "text" and message.author == self.who.member.id:
                    self._own(message)
        return None

    # -- people --------------------------------------------------------------------------------------------------------

    def _own(self, message: RoomMessage) -> None:
        with ui.row().classes("kotae-own"):
            for icon, said, do in (
                ("edit", _EDIT, lambda: self._forms.edit(message)),
                ("delete_outline", DELETE, lambda: self._forms.delete(message)),
            ):
                ui.button(icon=icon, on_click=do).props(
                    f'flat round dense size=sm aria-label="{said.to(self.language)}"'
                )

    # -- the bot -------------------------------------------------------------------------------------------------------

    def _steps(self, message: RoomMessage) -> None:
        lines = list(message.data["lines"])
        if summary := message.data.get("summary"):
            with ui.element("details").classes("kotae-folded"):
                with ui.element("summary").classes("kotae-quiet"):
                    ui.label(summary)
                for line in lines:
                    ui.label(line).classes("kotae-quiet kotae-pre")
            return
        with ui.column().classes("kotae-thoughts"):
            for line in lines:
                ui.label(line).classes("kotae-quiet kotae-pre")
            if message.data["thinking"]:
                with ui.row().classes("items-center"):
                    ui.spinner("dots", size="1.4em")
                    if not lines:
                        ui.label(message.text).classes("kotae-quiet")

    def _answer(self, message: RoomMessage) -> _Voting | None:
        voting: _Voting | None = None
        if message.data.get("unsure"):
            components.doubt(self.language)
        components.prose(message.text)
        if message.data["citations"]:
            ui.label(SOURCES.to(self.language)).classes("kotae-quiet text-weight-bold")
        for citation in message.data["citations"]:
            self._source(message, citation["n"], citation)
        outcome: Outcome = message.data["outcome"]
        with ui.row().classes("kotae-votes"):
            if message.data.get("person"):
                self._ask_person(message)
            if outcome in ("answered", "unknown"):
                voting = self._votes(message)
            ui.link(_TRACE.to(self.language), f"/trace/{message.data['turn']}").classes("kotae-quiet")
            if message.data["model"]:
                made = components.MADE.to(self.language, model=message.data["model"], seconds=message.data["seconds"])
                ui.label(made).classes("kotae-quiet")
            if outcome != "answered":
                ui.badge(OUTCOMES[outcome].to(self.language), outline=True)
        return voting

    def _source(self, message: RoomMessage, number: int, citation: dict[str, object]) -> None:
        """One source; its passage is looked up when it is opened, with the rights this room has then."""
        date = str(citation.get("date") or "")
        checked, said_in = (str(citation.get(name) or "") for name in ("checked", "said_in"))
        kept = source_place(str(citation["collection"]), date, self.language, checked, said_in)
        title = f"[{number}] {citation.get('title') or citation['document']}{kept}"
        quote = str(citation["quote"] or "")
        caption = pointer(quote) if message.data["model"] == EXTRACTIVE else quote
        with ui.row().classes("kotae-cited"):
            with ui.expansion(title, caption=caption).classes("kotae-source") as source:
                body = ui.column().classes("full-width")
            if document := citation["document_id"]:
                components.to_document(str(document), int(str(citation["chunk"])), quote, self.language)

        async def show() -> None:
            if not source.value:
                return
            body.clear()
            with body, saying(self.language, inline=True):
                passage = await self.site.web.board.passage(self.who.member, message.id, number)
                if passage is None:
                    ui.label(_GONE.to(self.language)).classes("kotae-quiet")
                    return
                components.prose(passage.text)
                components.original(str(citation.get("url") or ""), self.language)

        source.on_value_change(show)

    def _ask_person(self, message: RoomMessage) -> None:
        async def ask() -> None:
            with saying(self.language):
                reply = await self.site.web.ask_person(self.who.member, message.id)
                while reply.offer is not None:
                    do = reply.offer.to(self.language)
                    if not await dialogs.confirmed(reply.text.to(self.language), do, self.language, bad=False):
                        return
                    reply = await self.site.web.ask_person(self.who.member, message.id, reply.choice)
                ui.notify(reply.text.to(self.language))

        button = ui.button(asking.LABEL.to(self.language), icon="person_search", on_click=ask)
        button.props("flat dense no-caps").mark("ask-person")

    def _votes(self, message: RoomMessage) -> _Voting:
        voted: str | None = None
        buttons: dict[str, ui.button] = {}

        async def up() -> None:
            with saying(self.language):
                kept = await self.site.web.vote(self.who.member, message.id, None if voted == "up" else "up")
                ui.notify((feedback.THANKS if kept else feedback.NOT_FOUND).to(self.language))

        async def down() -> None:
            with saying(self.language):
                if voted == "down":
                    await self.site.web.vote(self.who.member, message.id, None)
                elif await self.site.web.vote(self.who.member, message.id, "down"):
                    self._forms.report(message.id)
                else:
                    ui.notify(feedback.NOT_FOUND.to(self.language))

        for text, said, vote, do in (("👍", feedback.UP, "up", up), ("👎", feedback.DOWN, "down", down)):
            button = ui.button(text, on_click=do).props("flat dense").tooltip(said.to(self.language))
            buttons[vote] = button.props(f'aria-label="{said.to(self.language)}" aria-pressed=false')

        async def follow() -> None:
            nonlocal voted
            mine = (await self.site.web.votes(self.who.member, [message.id])).get(message.id)
            voted = mine.vote if mine is not None else None
            for vote, button in buttons.items():
                button.props(f"aria-pressed={str(voted == vote).lower()}")
                button.classes(**{"add" if voted == vote else "remove": "kotae-voted"})

        return follow

    # -- the digest ----------------------------------------------------------------------------------------------------

    def card(self, card: Card) -> None:
        """A card of plain text; without its buttons."""
        ui.label(card.title).classes("text-weight-bold")
        for line in card.lines:
            ui.label(line)
        for row in card.rows:
            with ui.element("div").classes("kotae-card"):
                self._row(row)
        for line in card.foot:
            ui.label(line).classes("kotae-quiet")

    def _row(self, row: CardRow) -> None:
        ui.label(row.text).classes("text-weight-medium kotae-pre")
        for detail in row.details:
            ui.label(detail).classes("kotae-quiet")
        with ui.row():
            for link in row.links:
                components.link(link.text, link.url)

    def _card_message(self, message: RoomMessage) -> None:
        row = digest.row_of(message)
        with ui.element("div").classes("kotae-card"):
            self._row(row)
            if status := message.data.get("status"):
                ui.label(str(status)).classes("text-weight-medium")
            with ui.row():
                for action in row.actions:
                    if action.kind == "answer":
                        ui.button(action.text, on_click=lambda: self._forms.teach(message)).props("unelevated no-caps")
                    else:
                        ui.button(action.text, on_click=lambda: self._dismiss(message)).props("flat no-caps")

    async def _dismiss(self, message: RoomMessage) -> None:
        with saying(self.language):
            taught = await self.site.web.dismiss(self.who.member, message.id)
            if taught.refusal is not None:
                ui.notify(taught.refusal.to(self.language), type="warning")

    def _confirm(self, message: RoomMessage) -> None:
        ui.label(message.text).classes("kotae-pre")
        if message.data["done"]:
            return

        async def save(*, anew: bool = False) -> None:
            with saying(self.language):
                taught = await self.site.web.save(self.who.member, message.id, anew=anew)
                if taught.refusal is not None:
                    ui.notify(taught.refusal.to(self.language), type="warning")

        async def discard() -> None:
            with saying(self.language):
                await self.site.web.discard(self.who.member, message.id)

        with ui.row():
            do: Mapping[str, Callable[[], Awaitable[None]]]
            do = {"save": save, "anew": partial(save, anew=True), "discard": discard}
            for kind, label in expert_answers.choices(message.data, self.language):
                look = "unelevated" if kind == "save" else "flat"
                ui.button(label, on_click=do[kind]).props(f"{look} no-caps")
