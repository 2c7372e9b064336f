"""A team channel in the browser: rooms, threads, mentions, live steps, cited answers, votes, files, and two members.

Source: product.md §1, §4 and §6; seeds/0_agent_rag.md §6.2.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from nicegui import background_tasks, events, ui
from starlette.requests import Request

from adapters.markdown.events import STEPS
from adapters.web.channel.events import addressed, command, question
from adapters.web.channel.messages import LONGEST, Change
from adapters.web.channel.rooms import Room, rooms_of
from adapters.web.pages.channel.forms import Forms
from adapters.web.pages.channel.message import Drawing
from adapters.web.pages.channel.message_list import MessageList
from adapters.web.pages.shared.components import once, tells_failure
from adapters.web.pages.shared.layout import CLOSE, Page, saying, skip
from adapters.web.visitor import Site, Visitor
from bot.app import SAMPLE
from bot.errors import StoreError
from bot.types import Card, Preferences
from retrieval.i18n import Language, Text
from retrieval.loaders.limits import MIB
from retrieval.loaders.sanitize import clean_name

log = logging.getLogger(__name__)

MENTION = "@kotae "
DROPPED, DROPPED_MIB = 20, 25  # files at a time, and how much in all

_TITLE = Text(en="Channel", ja="チャンネル")
_PRIVATE = Text(en="private: only its members can see it", ja="非公開（メンバーだけが閲覧できます）")
_WRITE = Text(en="Message to {room}", ja="{room} へのメッセージ")
_REPLY = Text(en="Reply in the thread", ja="スレッドに返信")
_HINT = Text(
    en="Messages with @kotae are questions; /kotae help lists commands. Enter sends, Shift+Enter starts a new line.",
    ja="@kotae を付けたメッセージが質問になります。/kotae help でコマンドの一覧を表示します。Enter で送信、"
    "Shift+Enter で改行します。",
)
_TO_FIELD = Text(en="Skip to the message field", ja="メッセージの入力欄へ")
_SEND = Text(en="Send", ja="送信")
_THREAD = Text(en="Thread", ja="スレッド")
_CLOSE_THREAD = Text(en="Close the thread", ja="スレッドを閉じる")
_EARLIER = Text(en="Earlier messages", ja="以前のメッセージ")
_EMPTY = Text(
    en="Nobody has written here yet. Mention @kotae with a question.",
    ja="まだメッセージはありません。@kotae を付けて質問してください。",
)
_EMPTY_WITH_SAMPLES = Text(
    en="Nobody has written here yet. Mention @kotae with a question, or try one of these:",
    ja="まだメッセージはありません。@kotae を付けて質問するか、次の例を試してください。",
)
_SAMPLES = (  # of the sample handbook
    Text(en="How much is the daily allowance for a business trip?", ja="出張の日当はいくらですか？"),
    Text(en="How many reviews does a change need?", ja="リモートワークは週何日までですか？"),
    Text(en="When are laptops replaced?", ja="試用期間は何か月ですか？"),
)
_NO_THREAD = Text(en="Choose a message to see its thread.", ja="メッセージを選ぶと、スレッドが表示されます。")
_GONE = Text(
    en="There is nothing here: the message was deleted, or you cannot see it.",
    ja="メッセージがありません。削除されたか、閲覧できません。",
)
_OPTIONS = Text(en="Model, strategy, collections", ja="モデル・戦略・コレクション")
_MODEL = Text(en="Model (empty: {model})", ja="モデル（空欄: {model}）")
_STRATEGY = Text(en="Strategy", ja="戦略")
_COLLECTIONS = Text(en="Collections (none: all)", ja="コレクション（未選択: すべて）")
_USUAL = Text(en="default", ja="標準")
_STEP_NAMES = {
    "live": Text(en="one reply that grows", ja="1 件の返信にまとめて表示"),
    "verbose": Text(en="one reply per step", ja="1 件ずつ返信で表示"),
    "off": Text(en="none", ja="表示しない"),
}
_FOLLOW = Text(en="Follow-ups", ja="メンションなしの続き")
_FOLLOW_NAMES = {
    "thread": Text(
        en="in its own threads, until somebody else writes", ja="ボットのスレッドでは、ほかの人が書くまで回答"
    ),
    "mentions": Text(en="only when mentioned", ja="メンションがあるときだけ回答"),
}
_ROOM_CHOICE = Text(en="For everyone in this room:", ja="このルーム全体の設定:")
_QUESTION_CHOICE = Text(en="For your next questions from this page:", ja="今後このページから送る質問の設定:")
_CHOSEN = Text(en="Applies to your next questions from this page.", ja="今後このページから送る質問に適用します。")
_KEPT = Text(en="Saved for this room.", ja="このルームの設定を保存しました。")
_FILES = Text(en="Drop files here or choose them", ja="ファイルをここにドロップするか選択")
_TOO_MUCH = Text(
    en="At most {n} files and {mib} MiB at a time.", ja="一度に追加できるのは {n} 件、合計 {mib} MiB までです。"
)
_ATTACHED = Text(en="Goes with your next question: {names}", ja="次の質問に添付: {names}")
_DETACH = Text(en="Send without these files", ja="ファイルを添付しない")
_TOO_LONG = Text(
    en="A message has at most {n:,} characters. Add a longer text as a file, or in parts.",
    ja="メッセージは {n:,} 文字までです。長い文章は、ファイルとして追加するか、分けて送ってください。",
)
_NO_WORDS = Text(en="Write your question after @kotae.", ja="@kotae に続けて質問を書いてください。")
_NO_QUESTION = Text(
    en="Attached files go with a question: mention @kotae and ask something.",
    ja="添付ファイルは質問と一緒に送信されます。@kotae を付けて質問を書いてください。",
)
_COMMAND = Text(en="Only you can see this.", ja="この表示はあなただけに見えています。")

# A Japanese word is confirmed with Enter, too: that one is not for us (keyCode 229: the input method has it).
_ENTER = """(event) => { if (event.shiftKey || event.isComposing || event.keyCode === 229) return;
 event.preventDefault(); event.target.kotaeTake(emit); }"""
_PRESSED = """(event) => event.currentTarget.closest(".kotae-write").querySelector("textarea").kotaeTake(emit)"""

# What is sent leaves the field at once: it goes once, and what is written meanwhile stays. Until the server has it, it
# is kept beside the draft, and comes back into the field where it could not be taken. What is far too long stays there,
# since a browser might not keep it twice: of it enough is sent to be told so.
_FIELD_OF = """document.getElementById("c{id}")?.closest(".q-field").querySelector("textarea")"""
_DRAFT = f"""const field = {_FIELD_OF}, start = {{start}}, sent = "kotae-sent:{{key}}";
const put = (text) => {{{{ field.value = text; field.dispatchEvent(new Event("input")); }}}};
let waiting = false;
field.kotaeTake = (emit) => {{{{
 if (waiting) return;
 const text = field.value, told = [...text].slice(0, {{longest}} + 1).join("");
 if (told === text) {{{{
  waiting = true;
  sessionStorage.setItem(sent, text);
  put(start);
 }}}}
 emit(told);
}}}};
field.kotaeTaken = (written) => {{{{
 const text = sessionStorage.getItem(sent);
 waiting = false;
 sessionStorage.removeItem(sent);
 if (text && !written) put(field.value === start ? text : `${{{{text}}}}\\n${{{{field.value}}}}`);
}}}};
kotaeKeep(field, "kotae-draft:{{key}}", start);
field.kotaeTaken(false);"""
_TAKEN = f"""const field = {_FIELD_OF};
if (field) field.kotaeTaken({{written}}); else if ({{written}}) sessionStorage.removeItem("kotae-sent:{{key}}");"""

# The field that is seen: of the thread, where one is open.
_FIELD = "[...document.querySelectorAll('.kotae-composer textarea')].findLast((field) => field.checkVisibility())"

# The address says what is shown, so that it can be loaded anew and shared, and the browser's Back leads out of it.
_MOVED = """window.kotaeShown = "{shown}";
if (location.search !== kotaeShown) history.pushState({{}}, "", location.pathname + kotaeShown);"""
_ARRIVED = r"""window.kotaeShown = location.search;
window.addEventListener("popstate", () => { if (location.search !== kotaeShown) location.reload(); });
if (/^#m\d+$/.test(location.hash)) document.getElementById(location.hash.slice(1))?.scrollIntoView();"""


@dataclass(slots=True)
class _Options:
    """For the questions from this page. None: as the room has it."""

    model: str | None = None
    strategy: str | None = None
    collections: list[str] = field(default_factory=list)


class _Channel:
    """The page of one browser: a room, and the thread that is open in it."""

    def __init__(self, site: Site, who: Visitor, room: Room) -> None:
        self._site = site
        self._who = who
        self._room = room
        self._options = _Options()
        self._files: dict[int | None, list[tuple[str, bytes]]] = {}  # that go with the next question of a thread
        self._forms = Forms(site, who, room)
        self._drawing = Drawing(site, who, self._forms, self.open)
        self._thread: MessageList | None = None
        self._sample = once(self._ask_sample)
        self._turning = asyncio.Lock()  # one thread at a time is opened or closed

    @property
    def _language(self) -> Language:
        return self._who.language

    async def build(self, thread: int | None, message: int | None = None) -> None:
        skip(_TO_FIELD.to(self._language), _FIELD)
        with ui.row().classes("kotae-rooms"):
            for room in rooms_of(self._who.member):
                text = ("🔒 " if room.private else "# ") + room.name.to(self._language)
                link = ui.link(text, f"/?room={room.id}").classes("kotae-room")
                if room.private:
                    link.tooltip(_PRIVATE.to(self._language))
                if room is self._room:
                    link.classes("kotae-here").props('aria-current="page"')
            ui.space()
            ui.button(icon="tune", on_click=self._choose).props("flat round dense").props(
                f'aria-label="{_OPTIONS.to(self._language)}"'
            ).tooltip(_OPTIONS.to(self._language))
        with ui.element("div").classes("kotae-channel") as self._panes:
            with ui.column().classes("kotae-pane kotae-pane-room"):
                listed = _list(self._room.name.to(self._language))
                write = _WRITE.to(self._language, room=self._room.name.to(self._language))
                self._composer(write, None, focused=thread is None)
            self._side = ui.column().classes("kotae-pane kotae-pane-thread")
        self._main = MessageList(self._drawing, self._room, None, listed)
        # It listens before anything is read: what is said while the page is drawn is not missed.
        watching = background_tasks.create(self._watch(), name="channel page")
        ui.context.client.on_delete(watching.cancel)
        await self._fill()
        ui.run_javascript(_ARRIVED)
        if thread is None:
            self._no_thread()
        else:
            await self._show_thread(thread, focused=True, back_to=message)

    async def open(self, root: int) -> None:
        """Show a thread beside the room, to write in it."""
        await self._open(root, focused=True)

    async def _open(self, root: int, *, focused: bool) -> None:
        with saying(self._language):
            async with self._turning:
                await self._show_thread(root, focused=focused)
            self._moved(f"&thread={root}")

    async def _show_thread(self, root: int, *, focused: bool, back_to: int | None = None) -> None:
        self._side.clear()
        with self._side:
            with ui.row().classes("kotae-thread-head"):
                ui.label(_THREAD.to(self._language)).classes("text-weight-bold")
                ui.space()
                ui.button(icon="close", on_click=self._close).props(
                    f'flat round dense aria-label="{_CLOSE_THREAD.to(self._language)}"'
                )
            listed = _list(_THREAD.to(self._language))
            start = "" if await self._is_card(root) else MENTION
            self._composer(_REPLY.to(self._language), root, start, focused=focused)
        self._thread = MessageList(self._drawing, self._room, root, listed)
        self._panes.classes(add="kotae-threaded")
        await self._thread.fill(_GONE.to(self._language), _EARLIER.to(self._language), back_to=back_to)

    async def _close(self) -> None:
        with saying(self._language):
            async with self._turning:
                self._thread = None
                self._panes.classes(remove="kotae-threaded")
                self._no_thread()
            self._moved("")
            ui.run_javascript(f"({_FIELD})?.focus()")

    def _moved(self, thread: str) -> None:
        ui.run_javascript(_MOVED.format(shown=f"?room={self._room.id}{thread}"))

    def _no_thread(self) -> None:
        self._side.clear()
        with self._side:
            ui.label(_NO_THREAD.to(self._language)).classes("kotae-empty")

    async def _fill(self) -> None:
        app = self._site.app
        found = await app.bot.turns.suggestions(self._language, most=len(_SAMPLES))
        if not found and any(info.name == SAMPLE for info in await app.knowledge.collections(self._who.readers)):
            found = [question.to(self._language) for question in _SAMPLES]
        samples = {text: partial(self._sample, text) for text in found}
        empty = _EMPTY_WITH_SAMPLES if samples else _EMPTY
        await self._main.fill(empty.to(self._language), _EARLIER.to(self._language), samples)

    async def _ask_sample(self, text: str) -> None:
        await self._send(f"{MENTION}{text}", None)

    # -- what happens --------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Keep both lists as the room is, until the page is gone."""
        with self._site.web.board.subscribe(self._who.member, self._room) as changes:
            async for change in changes:
                try:
                    with self._panes:
                        await self._look(change)
                except StoreError:
                    log.warning("a change could not be shown", exc_info=True)
                except Exception:  # the next one may be
                    log.exception("a change could not be shown")

    async def _look(self, change: Change) -> None:
        if change.message is None:
            await self._fill()
            if self._thread is not None:
                await self._thread.fill(_GONE.to(self._language), _EARLIER.to(self._language))
            return
        await self._main.look(change.message if change.thread is None else change.thread)
        if self._thread is not None and self._thread.thread in (change.thread, change.message):
            await self._thread.look(change.message)

    # -- writing -------------------------------------------------------------------------------------------------------

    async def _is_card(self, root: int) -> bool:
        """Replies to a card of the digest are answers to it, not questions."""
        try:
            return (await self._site.web.board.get(self._who.member, root)).kind == "card"
        except LookupError:  # it was deleted, and its thread goes on
            return False

    def _composer(self, label: str, thread: int | None, start: str = MENTION, *, focused: bool) -> None:
        with ui.column().classes("kotae-composer"):
            attached = ui.row().classes("kotae-attached")
            self._files.pop(thread, None)
            with ui.row().classes("kotae-write"):
                field = ui.textarea(label, value=start).props("autogrow outlined dense rows=1")
                if focused:
                    field.props("autofocus")
                button = ui.button(icon="send").props(f'round unelevated aria-label="{_SEND.to(self._language)}"')
            if thread is None:
                ui.label(_HINT.to(self._language)).classes("kotae-quiet")

            async def dropped(event: events.MultiUploadEventArguments) -> None:
                upload.reset()
                await self._dropped(event, thread, attached)

            upload: ui.upload = ui.upload(
                label=_FILES.to(self._language),
                multiple=True,
                auto_upload=True,
                max_files=DROPPED,
                max_total_size=DROPPED_MIB * MIB,  # they come in one form
                on_multi_upload=dropped,
                on_rejected=lambda: ui.notify(_TOO_MUCH.to(self._language, n=DROPPED, mib=DROPPED_MIB), type="warning"),
            )
            upload.props("flat bordered hide-upload-btn no-thumbnails").classes("kotae-drop")
            tells_failure(upload, self._language)

        async def send(event: events.GenericEventArguments) -> None:
            written = False
            try:
                written = await self._send(str(event.args).strip(), thread)
            finally:
                ui.run_javascript(_TAKEN.format(id=field.id, key=key, written=str(written).lower()))
            if written:
                attached.clear()

        key = f"{self._who.member.id}:{self._room.id}:{thread or ''}"
        ui.run_javascript(_DRAFT.format(id=field.id, key=key, start=json.dumps(start), longest=LONGEST))
        button.on("click", send, js_handler=_PRESSED)
        field.on("keydown.enter", send, js_handler=_ENTER)

    async def _send(self, text: str, thread: int | None) -> bool:
        """Whether it was written."""
        options, files = self._options, self._files.get(thread, [])
        if not question(text) and not files:
            if text:
                ui.notify(_NO_WORDS.to(self._language), type="warning")
            return False
        if len(text) > LONGEST:
            ui.notify(_TOO_LONG.to(self._language, n=LONGEST), type="warning")
            return False
        if files and not addressed(text) and command(text) is None:
            ui.notify(_NO_QUESTION.to(self._language), type="warning")
            return False
        with saying(self._language):
            said = await self._site.web.say(
                self._who.member,
                self._room,
                text,
                thread,
                model=options.model,
                strategy=options.strategy,
                collections=options.collections or None,
                files=files,
                language=self._language,
            )
            self._files.pop(thread, None)
            if isinstance(said, Card):
                self._show(said)
            elif said.thread is None and said.kind == "text" and addressed(text):
                await self._open(said.id, focused=False)  # they are writing in the room
            return True
        return False

    def _show(self, card: Card) -> None:
        with ui.dialog(value=True) as dialog, ui.card().classes("kotae-dialog"):
            dialog.props["aria-label"] = _COMMAND.to(self._language)
            self._drawing.card(card)
            ui.label(_COMMAND.to(self._language)).classes("kotae-quiet")
            _closing(dialog, self._language)
        dialog.on("hide", dialog.delete)

    async def _dropped(self, event: events.MultiUploadEventArguments, thread: int | None, attached: ui.row) -> None:
        with saying(self._language):
            files = [(clean_name(file.name), await file.read()) for file in event.files]

            def attach() -> None:
                self._files[thread] = [*self._files.get(thread, []), *files]
                names = ", ".join(name for name, _ in self._files[thread])
                attached.clear()
                with attached:
                    ui.label(_ATTACHED.to(self._language, names=names)).classes("kotae-quiet kotae-wrap")
                    ui.button(icon="close", on_click=detach).props(
                        f'flat round dense size=sm aria-label="{_DETACH.to(self._language)}"'
                    ).mark("detach")

            def detach() -> None:
                self._files.pop(thread, None)
                attached.clear()

            await self._forms.add(files, thread, attach)

    # -- choices -------------------------------------------------------------------------------------------------------

    async def _choose(self) -> None:
        """Model, strategy and collections for the next questions; and what holds in this room."""
        language, web, member = self._language, self._site.web, self._who.member
        with saying(language):
            room = await web.preferences(member, self._room)
            names = list(await web.collections(member, self._room))
            usual = _USUAL.to(language)
            strategies = {"": usual, "react": "ReAct", "synthesis": "Synthesis"}
            model = room.model or self._site.app.settings.model_id
            with ui.dialog(value=True) as dialog, ui.card().classes("kotae-dialog"):
                dialog.props["aria-label"] = _OPTIONS.to(language)
                ui.label(_QUESTION_CHOICE.to(language)).classes("text-weight-bold")
                self._fields(
                    self._options.model, self._options.strategy, self._options.collections, model, strategies, names
                )(self._for_questions)
                ui.separator()
                ui.label(_ROOM_CHOICE.to(language)).classes("text-weight-bold")
                chosen = self._fields(room.model, room.strategy, list(room.collections or ()), model, strategies, names)
                steps = ui.select(
                    {name: said.to(language) for name, said in _STEP_NAMES.items()},
                    value=room.steps,
                    label=STEPS.to(language),
                ).classes("full-width")

                follow = ui.select(
                    {name: said.to(language) for name, said in _FOLLOW_NAMES.items()},
                    value=room.follow if room.follow in _FOLLOW_NAMES else "thread",  # a room is no forum
                    label=_FOLLOW.to(language),
                ).classes("full-width")

                async def keep(model: str | None, strategy: str | None, collections: list[str]) -> None:
                    wanted = Preferences(model, strategy, steps.value, tuple(collections) or None, follow.value)
                    await web.prefer(member, self._room, wanted)
                    ui.notify(_KEPT.to(language), type="positive")

                chosen(keep)
                _closing(dialog, language)
            dialog.on("hide", dialog.delete)

    async def _for_questions(self, model: str | None, strategy: str | None, collections: list[str]) -> None:
        language = self._language
        await self._site.app.check(model, strategy, tuple(collections) or None, language)
        self._options.model, self._options.strategy, self._options.collections = model, strategy, collections
        ui.notify(_CHOSEN.to(language), type="positive")

    def _fields(
        self,
        model: str | None,
        strategy: str | None,
        collections: list[str],
        usual: str,
        strategies: dict[str, str],
        names: list[str],
    ) -> Callable[[Callable[[str | None, str | None, list[str]], Awaitable[None]]], None]:
        """Three fields; the returned function puts the button under them that does something with their values."""
        language = self._language
        models = list(dict.fromkeys((*self._site.app.settings.models_set_up, *([model] if model else []))))
        which = ui.select(
            models, value=model, label=_MODEL.to(language, model=usual), new_value_mode="add-unique", clearable=True
        )
        which.classes("full-width").mark("model")
        how = ui.select(strategies, value=strategy or "", label=_STRATEGY.to(language)).classes("full-width")
        where = (
            ui.select(
                names,
                value=[name for name in collections if name in names],
                multiple=True,
                label=_COLLECTIONS.to(language),
            )
            .classes("full-width")
            .props("use-chips")
        )

        def button(do: Callable[[str | None, str | None, list[str]], Awaitable[None]]) -> None:
            async def pressed() -> None:
                with saying(language):
                    await do((which.value or "").strip() or None, how.value or None, list(where.value or ()))

            ui.button("OK", on_click=pressed).props("unelevated no-caps")

        return button


def _closing(dialog: ui.dialog, language: Language) -> None:
    """The way out of a dialog for who has no Escape key, where it fills the screen."""
    ui.button(CLOSE.to(language), on_click=dialog.close).props("flat no-caps").classes("self-start")


def _list(label: str) -> ui.column:
    """A list that shows its end."""
    with (
        ui.element("div").classes("kotae-newest").props(f'role=log tabindex=0 aria-label="{label}"'),
        ui.column().classes("kotae-list") as listed,
    ):
        return listed


async def _build(site: Site, who: Visitor, request: Request) -> None:
    wanted = request.query_params.get("room", "")
    rooms = rooms_of(who.member)
    room = next((each for each in rooms if each.id == wanted), rooms[0])
    root, message = (_number(request, name) if wanted == room.id else None for name in ("thread", "message"))
    await asyncio.wait_for(site.web.ready.wait(), 10)
    await _Channel(site, who, room).build(root, message)


def _number(request: Request, name: str) -> int | None:
    given = request.query_params.get(name, "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 16 else None


PAGE = Page("/", _TITLE, "forum", _build)
