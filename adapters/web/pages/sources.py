"""Sources that documents follow: how they are, and what an editor can do about them. Source: sources.md §3."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial

from nicegui import ui

from adapters.web.channel.rooms import actor
from adapters.web.pages.shared.curators import person, readers_of
from adapters.web.pages.shared.dialogs import buttons, confirmed, form
from adapters.web.pages.shared.layout import Page, saying
from adapters.web.pages.shared.live import live_list
from adapters.web.visitor import Site, Visitor
from bot.sources.card import KINDS, details, synced
from bot.sources.sources import NewSource, SourceStatus
from bot.sources.sync import SyncReport
from bot.unanswered.digest_card import safe_link
from retrieval.i18n import Text

_TITLE = Text(en="Sources", ja="同期元")
_ABOUT = Text(
    en="Documents that follow folders, git repositories, websites and channels by themselves: what is added, "
    "changed, renamed or deleted there is updated here, too.",
    ja="フォルダー、git リポジトリ、ウェブサイト、チャンネルと自動で同期する文書です。"
    "同期元での追加・変更・名前の変更・削除が、ここにも反映されます。",
)
_NONE = Text(en="Nothing is followed yet.", ja="同期元はまだありません。")
_LOCAL = Text(
    en="Folders of this machine are added in the terminal: kotae source add folder PATH",
    ja="このマシンのフォルダーは、ターミナルの kotae source add folder パス で追加します。",
)
_ADD = Text(en="Follow a repository, a website or a channel", ja="リポジトリ、ウェブサイト、チャンネルを追加")
_KIND = Text(en="Kind", ja="種類")
_ADDRESS = Text(
    en="Address, such as https://github.com/team/handbook; of a channel: slack:C0123456789",
    ja="アドレス（例: https://github.com/team/handbook、チャンネルは slack:C0123456789）",
)
_NAME = Text(en="Name (empty: from the address)", ja="名前（空欄: アドレスの末尾）")
_BRANCH = Text(en="Git branch (empty: the default)", ja="git のブランチ（空欄: 既定）")
_FOLDER = Text(en="Folder in git (empty: all)", ja="git 内のフォルダー（空欄: すべて）")
_COLLECTION = Text(en="Collection (empty: as the name)", ja="コレクション（空欄: 名前と同じ）")
_SYNC, _PAUSE = Text(en="Sync now", ja="いま同期"), Text(en="Pause", ja="一時停止")
_RESUME, _REMOVE = Text(en="Resume", ja="再開"), Text(en="Remove", ja="削除")
_FORGET, _KEEP = Text(en="Forget what is gone", ja="なくなったページの文書を削除"), Text(en="Keep it", ja="残す")
_SYNCING = Text(en="being synced …", ja="同期中…")
_SURE = Text(
    en="Stop following “{name}” and forget its {n} document{n:|s}?",
    ja="「{name}」の同期をやめ、文書 {n} 件を削除しますか？",
)
_ADDED = Text(
    en="Added. Its pages come in the background.", ja="追加しました。ページはバックグラウンドで登録されます。"
)
_SAVE = Text(en="Follow it", ja="追加する")
_DONE = Text(en="Done.", ja="完了しました。")


class _Sources:
    """Of documents that this browser's member may read."""

    def __init__(self, site: Site, who: Visitor) -> None:
        self._sources = site.app.sources
        self._edits = site.app.curating.edits(person(who))
        self._who = who
        self._ground = ui.element("div").classes("kotae-ground")  # of dialogs, which outlive what they were opened from

    async def build(self) -> None:
        language = self._who.language
        ui.label(_ABOUT.to(language)).classes("kotae-quiet")
        if self._edits:
            with ui.row():
                ui.button(_ADD.to(language), icon="add", on_click=self._add).props("outline no-caps").mark("add")
            ui.label(_LOCAL.to(language)).classes("kotae-quiet")
        listed = partial(self._sources.listed, self._who.readers)
        self._fill = await live_list(listed, self._card, _NONE.to(language), every=2.0)

    def _card(self, one: SourceStatus) -> None:
        language, source = self._who.language, one.source
        with ui.element("div").classes("kotae-card"):
            ui.label(source.name).classes("text-weight-medium kotae-wrap")
            if (address := safe_link(source.location)) is not None:
                ui.link(source.location, address, new_tab=True).classes("kotae-wrap")
            else:
                ui.label(source.location).classes("kotae-quiet kotae-wrap")
            for line in details(one, datetime.now(UTC), language):
                ui.label(line).classes("kotae-wrap")
            ui.label(readers_of(source.scope, self._who)).classes("kotae-quiet")
            if one.syncing:
                ui.label(_SYNCING.to(language)).classes("kotae-quiet").props("role=status")
            if self._edits:
                self._buttons(one)

    def _buttons(self, one: SourceStatus) -> None:
        source = one.source
        who, readers, name = actor(self._who.member), self._who.readers, source.name
        with ui.row():
            if source.state == "asks":
                self._button(name, _FORGET, "forget", lambda: self._sources.resume(who, name, readers, "forget"))
                if source.kind != "channel":
                    self._button(name, _KEEP, "keep", lambda: self._sources.resume(who, name, readers, "keep"))
            elif source.state == "paused":
                self._button(name, _RESUME, "resume", lambda: self._sources.resume(who, name, readers))
            else:
                self._button(name, _SYNC, "sync", lambda: self._sources.sync(who, name, readers))
                self._button(name, _PAUSE, "pause", lambda: self._sources.pause(who, name, readers))
            self._button(name, _REMOVE, "remove", lambda: self._remove(one))

    def _button(self, name: str, text: Text, mark: str, do: Callable[[], Awaitable[SyncReport | int | None]]) -> None:
        language = self._who.language

        async def press() -> None:
            with saying(language):
                done = await do()
                if isinstance(done, SyncReport):
                    ui.notify(synced(name, done, language), type="positive")
                elif done is None:
                    ui.notify(_DONE.to(language), type="positive")
                await self._fill()

        ui.button(text.to(language), on_click=press).props("flat no-caps").mark(mark)

    async def _remove(self, one: SourceStatus) -> int | None:
        language = self._who.language
        sure = _SURE.to(language, name=one.source.name, n=one.pages)
        with self._ground:
            if not await confirmed(sure, _REMOVE.to(language), language):
                return 0
        await self._sources.remove(actor(self._who.member), one.source.name, self._who.readers, keep=False)
        return None

    def _add(self) -> None:
        language = self._who.language
        with form(self._ground, _ADD, language) as dialog:
            kinds = {kind: KINDS[kind].to(language) for kind in ("git", "website", "channel")}
            kind = ui.select(kinds, value="git", label=_KIND.to(language)).classes("full-width").props("outlined")
            kind.mark("kind")
            fields = [
                ui.input(text.to(language)).classes("full-width").props("outlined maxlength=300").mark(mark)
                for mark, text in (
                    ("address", _ADDRESS),
                    ("name", _NAME),
                    ("branch", _BRANCH),
                    ("folder", _FOLDER),
                    ("collection", _COLLECTION),
                )
            ]
            for only in fields[2:4]:  # branch and folder
                only.bind_visibility_from(kind, "value", value="git")

            async def save() -> None:
                with saying(language):
                    address, name, branch, folder, collection = ((each.value or "").strip() for each in fields)
                    new = NewSource(kind.value or "git", address, name, collection, branch=branch, folder=folder)
                    await self._sources.add(actor(self._who.member), new)
                    ui.notify(_ADDED.to(language), type="positive")
                    dialog.close()
                    await self._fill()

            buttons(dialog, _SAVE, save, language)


PAGE = Page("/sources", _TITLE, "sync", lambda site, who, request: _Sources(site, who).build())
