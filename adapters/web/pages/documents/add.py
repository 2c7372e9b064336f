"""Adding documents on the documents page: files, a pasted text, and how far what was given is."""

from collections.abc import Awaitable, Callable

from nicegui import events, ui

from adapters.shared.ingestion import SCOPE, pasted
from adapters.shared.verdicts import verdict_line
from adapters.web.pages.shared.components import collection_select, tells_failure
from adapters.web.pages.shared.curators import person, readers_of
from adapters.web.pages.shared.layout import saying
from adapters.web.visitor import Site, Visitor
from bot.jobs import BackgroundJob
from retrieval.i18n import Text

FILE_BYTES = 25 * 1024 * 1024  # the loader's limit
_EVERY = 1.0  # seconds between two looks at what runs

_TITLE = Text(en="Add documents", ja="文書の追加")
_FILES = Text(
    en="Drop files here or choose them (25 MiB each)", ja="ファイルをここにドロップするか選択（各 25 MiB まで）"
)
_PASTE = Text(en="Paste text", ja="テキストを貼り付け")
_NAME = Text(en="Title (empty: the first line)", ja="タイトル（空欄なら 1 行目）")
_TEXT = Text(en="Text", ja="テキスト")
_ADD = Text(en="Add", ja="追加")
_NO_TEXT = Text(  # NiceGUI sends no more, and says so when it is pasted
    en="Enter some text first. One of more than about 900,000 characters is added as a file.",
    ja="先にテキストを入力してください。約 90 万文字を超える場合は、ファイルとして追加してください。",
)
_NO_COLLECTION = Text(en="Choose a collection first.", ja="先にコレクションを選択してください。")
_TOO_BIG = Text(
    en="A file was too large: at most 25 MiB each.",
    ja="サイズの大きすぎるファイルがあります。1 ファイル 25 MiB までです。",
)
_KINDS = Text(
    en="md, txt, html, csv, json, jsonl, pdf, docx, pptx, xlsx, epub. CSV and JSON files with the columns "
    "question and answer become Q/A pairs.",
    ja="md、txt、html、csv、json、jsonl、pdf、docx、pptx、xlsx、epub に対応しています。question と answer"
    "（質問・回答）の列がある CSV と JSON は Q/A ペアになります。",
)
_RUNNING = Text(en="Work in progress", ja="処理状況")
_CLEAR = Text(en="Clear finished work", ja="完了分を消去")
_STOP = Text(en="Stop", ja="中止")
_AGAIN = Text(en="Re-indexing: {name}", ja="再インデックス: {name}")
_DONE = Text(en="done ({n} document{n:|s})", ja="完了（文書 {n} 件）")
_REFUSED = Text(en="{n} failed", ja="失敗 {n} 件")
_STATES = {
    "waiting": Text(en="waiting", ja="待機中"),
    "running": Text(en="{done} of {total}", ja="{done}/{total}"),
    "passages": Text(en="{done} of {total} chunks", ja="{done}/{total} チャンク"),
    "reading": Text(en="reading", ja="読み込み中"),
    "stopped": Text(en="stopped; what was added stays", ja="中止しました（追加済みの文書は残っています）"),
}
_SHOWN = 5  # reasons of one job


class AddDocuments:
    """`changed` is called when work has ended."""

    def __init__(self, site: Site, who: Visitor, changed: Callable[[], Awaitable[None]]) -> None:
        self._site = site
        self._who = who
        self._person = person(who)
        self._changed = changed
        self._seen: list[object] = []
        self._over: set[str] = {job.id for job in self._jobs if job.over}

    @property
    def _jobs(self) -> list[BackgroundJob]:
        return self._site.app.curating.jobs(self._person)

    def build(self, collections: list[str]) -> None:
        """The form. `collections` are those to choose from, the default first."""
        language, curating = self._who.language, self._site.app.curating
        scopes = {scope: readers_of(scope, self._who) for scope in curating.scopes(self._person)}
        with ui.expansion(_TITLE.to(language), icon="upload_file", value=True).classes("kotae-card"):
            with ui.row().classes("kotae-filters"):
                self._collection = collection_select(collections, collections[0], language)
                self._collection.classes("col-grow").mark("collection")
                self._scope = ui.select(scopes, value=next(iter(scopes)), label=SCOPE.to(language)).classes("col-grow")
                self._scope.mark("scope")
            self._upload = ui.upload(
                label=_FILES.to(language),
                multiple=True,
                auto_upload=True,
                max_file_size=FILE_BYTES,
                on_upload=self._file,
                on_rejected=lambda: ui.notify(_TOO_BIG.to(language), type="warning"),
            ).classes("kotae-drop")
            self._upload.props("no-thumbnails").on("finish", self._upload.reset, args=[])
            tells_failure(self._upload, language)
            ui.label(_KINDS.to(language)).classes("kotae-quiet")
            with ui.expansion(_PASTE.to(language), icon="content_paste").classes("full-width"):
                self._name = ui.input(_NAME.to(language)).classes("full-width").props("outlined maxlength=200")
                self._text = ui.textarea(_TEXT.to(language)).classes("full-width").props("outlined autogrow")
                ui.button(_ADD.to(language), on_click=self._paste).props("unelevated no-caps").mark("paste")
        self.watch()

    def watch(self) -> None:
        """How far it is, here."""
        self._ground = ui.column().classes("full-width").props('aria-live="polite"')
        self.redraw()
        ui.timer(_EVERY, self.refresh)

    def _add(self, name: str, read: Callable[[], Awaitable[bytes]]) -> bool:
        collection = (self._collection.value or "").strip()
        if not collection:
            ui.notify(_NO_COLLECTION.to(self._who.language), type="warning")
            return False
        self._site.app.curating.add(self._person, name, read, collection=collection, scope=self._scope.value)
        self.redraw()
        return True

    def _file(self, event: events.UploadEventArguments) -> None:
        with saying(self._who.language):
            self._add(event.file.name, event.file.read)

    def _paste(self) -> None:
        language = self._who.language
        with saying(language):
            text = self._text.value or ""
            if not text.strip():
                ui.notify(_NO_TEXT.to(language), type="warning")
                return
            given = pasted(text, (self._name.value or "").strip(), language)
            data = text.encode("utf-8", "replace")

            async def read() -> bytes:
                return data

            if self._add(given.name, read):
                self._name.value = self._text.value = ""

    # -- how far it is ----------------------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Draw what has changed since the last look."""
        with saying(self._who.language):
            self.redraw()
            over = {job.id for job in self._jobs if job.over}
            news, self._over = over - self._over, over
            if news:
                await self._changed()

    def redraw(self) -> None:
        jobs = self._jobs
        now: list[object] = [(job.id, job.state, job.done, job.passages) for job in jobs]
        if now == self._seen:
            return
        self._seen = now
        self._ground.clear()
        if not jobs:
            return
        language = self._who.language
        with self._ground, ui.column().classes("kotae-card"):
            with ui.row().classes("items-center full-width"):
                ui.label(_RUNNING.to(language)).classes("kotae-heading")
                ui.space()
                if any(job.over for job in jobs):
                    ui.button(_CLEAR.to(language), on_click=self._clear).props("flat dense no-caps")
            for job in jobs:
                self._job(job)

    def _job(self, job: BackgroundJob) -> None:
        language = self._who.language
        with ui.column().classes("kotae-job"):
            with ui.row().classes("items-center full-width no-wrap"):
                line = ui.label(self._said(job)).classes("kotae-pre")
                if job.problem or job.refused:
                    line.classes("kotae-bad").props('role="alert"')
                ui.space()
                if not job.over:
                    stop = ui.button(icon="stop", on_click=lambda: self._stop(job.id)).props("flat dense round")
                    stop.props(f'aria-label="{_STOP.to(language)}"')
            if not job.over:
                bar = ui.linear_progress(job.share, show_value=False, size="6px")
                bar.props(f'aria-label="{_RUNNING.to(language)}"' + (" indeterminate" if job.share == 0 else ""))
            if job.kind == "reindex":
                for verdict in job.refused[:_SHOWN]:
                    ui.label(verdict_line(verdict, language)).classes("kotae-quiet kotae-pre")

    def _said(self, job: BackgroundJob) -> str:
        language = self._who.language
        name = _AGAIN.to(language, name=job.name) if job.kind == "reindex" else job.name
        if job.problem:
            return f"⚠️ {name}: {job.problem}"
        match job.state:
            case "done" if job.kind == "add" and job.verdict:
                return verdict_line(job.verdict, language)
            case "done":
                refused = len(job.refused)
                bad = f" · {_REFUSED.to(language, n=refused)}" if refused else ""
                return f"{'⚠️' if refused else '✅'} {name}: {_DONE.to(language, n=job.done - refused)}{bad}"
            case "running":
                far = []
                if job.total > 1:
                    far.append(_STATES["running"].to(language, done=job.done, total=job.total))
                done, total = job.passages
                far.append(_STATES["passages" if total else "reading"].to(language, done=done, total=total))
                return f"⏳ {name}: {' · '.join(far)}"
            case _:
                return f"{name}: {_STATES[job.state].to(language)}"

    def _stop(self, job_id: str) -> None:
        with saying(self._who.language):
            self._site.app.curating.stop(self._person, job_id)

    def _clear(self) -> None:
        with saying(self._who.language):
            self._site.app.curating.clear(self._person)
            self.redraw()
