"""The collections on the documents page: what each is about and holds, made, described, renamed, merged, deleted."""

from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import quote

from nicegui import ui

from adapters.web.pages.shared import components
from adapters.web.pages.shared.curators import person
from adapters.web.pages.shared.dialogs import SAVE, buttons, confirmed, form
from adapters.web.pages.shared.layout import saying
from adapters.web.visitor import Site, Visitor
from retrieval.i18n import Language, Text
from retrieval.types import CollectionInfo

_TITLE = Text(en="Collections", ja="コレクション")
_NONE = Text(
    en="There are no collections yet. Adding a document creates its collection.",
    ja="コレクションはまだありません。文書を追加すると、そのコレクションも作成されます。",
)
_COUNTS = Text(en="documents: {documents}, chunks: {chunks}", ja="文書 {documents} 件、チャンク {chunks} 件")
_NO_ABOUT = Text(
    en="No description yet. A description helps the bot choose where to search.",
    ja="説明はまだありません。説明があると、ボットが検索先を選びやすくなります。",
)
_NEW = Text(en="New collection", ja="新しいコレクション")
_NAME = Text(en="Name", ja="名前")
_ABOUT = Text(en="Description", ja="説明")
_OWNER = Text(en="Who looks after it, such as slack:U012AB3CD", ja="担当者（例: slack:U012AB3CD）")
_OWNED = Text(en="Looked after by {who}", ja="担当: {who}")
_EDIT = Text(en="Name, description and owner", ja="名前・説明・担当者")
_ACTS = Text(en="Change this collection", ja="このコレクションの操作")
_SAVED = Text(en="Saved.", ja="保存しました。")
_MERGE = Text(en="Merge collections", ja="コレクションを統合")
_FROM = Text(en="Collections to merge", ja="統合元のコレクション")
_INTO = Text(en="Merge into (an existing or a new name)", ja="統合先（新しい名前も可）")
_DO_MERGE = Text(en="Merge", ja="統合")
_MERGE_SURE = Text(
    en="Merge {sources} into {into}? What is merged disappears as a collection, and this cannot be undone.",
    ja="{sources}を{into}に統合しますか？統合元のコレクションはなくなり、元に戻せません。",
)
_NEW_ONE = Text(en="“{name}” (new)", ja="「{name}」（新規）")
_ONE_OF = Text(en="“{name}” ({n} document{n:|s})", ja="「{name}」（文書 {n} 件）")
_MERGED = Text(en="{n} document{n: is|s are} now in “{into}”.", ja="文書 {n} 件を「{into}」に統合しました。")
_CHOOSE = Text(en="Choose what to merge and what to merge it into.", ja="統合元と統合先を選択してください。")
_DELETE = Text(en="Delete the collection", ja="コレクションを削除")
_SURE = Text(
    en="Delete “{name}” with its {n} document{n:|s}? What it holds disappears from every search at once and cannot be "
    "restored.",
    ja="「{name}」を文書 {n} 件とともに削除しますか？すぐに検索されなくなり、元に戻せません。",
)
_DELETED = Text(en="“{name}” is deleted ({n} document{n:|s}).", ja="「{name}」を削除しました（文書 {n} 件）。")
_REINDEX = Text(en="Re-index all its documents", ja="すべての文書を再インデックス")


class CollectionCards:
    """`changed` is called after a change here."""

    def __init__(self, site: Site, who: Visitor, changed: Callable[[], Awaitable[None]]) -> None:
        self._site = site
        self._who = who
        self._person = person(who)
        self._changed = changed
        self._infos: tuple[CollectionInfo, ...] = ()
        self._names: dict[str, str] = {}  # of their owners

    async def build(self) -> None:
        self._ground = ui.column().classes("full-width")
        self._dialogs = ui.element("div")  # a dialog must not vanish with the card it was opened from
        await self.show()

    @property
    def _language(self) -> Language:
        return self._who.language

    @property
    def _edits(self) -> bool:
        return self._site.app.curating.edits(self._person)

    async def show(self) -> None:
        """Draw them as they are now."""
        self._infos = await self._site.app.knowledge.collections(self._who.readers)
        owners = {info.owner for info in self._infos if info.owner}
        self._names = {owner: await self._site.app.bot.asking.name(owner) for owner in owners}
        language = self._language
        self._ground.clear()
        with self._ground:
            with ui.row().classes("items-center full-width"):
                components.heading(_TITLE.to(language))
                ui.space()
                if self._edits:
                    new = ui.button(_NEW.to(language), icon="add", on_click=self._new)
                    new.props("outline no-caps dense")
                    if self._infos:
                        merge = ui.button(_MERGE.to(language), icon="merge", on_click=self._merge)
                        merge.props("outline no-caps dense")
            if not self._infos:
                components.empty(_NONE.to(language))
            with ui.element("div").classes("kotae-shelf"):
                for info in self._infos:
                    self._card(info)

    def _card(self, info: CollectionInfo) -> None:
        language = self._language
        with ui.column().classes("kotae-card"):
            with ui.row().classes("items-center full-width no-wrap"):
                link = ui.link(info.name, f"/documents?collection={quote(info.name, safe='')}")
                link.classes("kotae-wrap text-weight-bold")
                ui.space()
                if self._edits:
                    self._menu(info)
            counts = _COUNTS.to(language, documents=info.documents, chunks=info.chunks)
            spoken = ("、" if language == "ja" else ", ").join(
                components.LANGUAGES[one].to(language) for one in sorted(set(info.languages))
            )
            ui.label(f"{counts} · {spoken}" if spoken else counts).classes("kotae-quiet")
            about = ui.label(info.description or _NO_ABOUT.to(language)).classes("kotae-pre")
            if not info.description:
                about.classes("kotae-quiet")
            if info.owner:
                ui.label(_OWNED.to(language, who=self._names[info.owner])).classes("kotae-quiet")

    def _menu(self, info: CollectionInfo) -> None:
        language = self._language
        acts: list[tuple[str, Text, Callable[[], Awaitable[None] | None]]] = [
            ("edit", _EDIT, lambda: self._describe(info)),
            ("reindex", _REINDEX, lambda: self._reindex(info)),
            ("delete", _DELETE, lambda: self._delete(info)),
        ]
        with ui.button(icon="more_vert").props("flat dense round").mark(f"menu-{info.name}") as button:
            button.props(f'aria-label="{_ACTS.to(language)}"')
            with ui.menu():
                for name, said, do in acts:
                    ui.menu_item(said.to(language), on_click=do).mark(f"{name}-{info.name}")

    # -- what is done -----------------------------------------------------------------------------------------------

    def _new(self) -> None:
        with form(self._dialogs, _NEW, self._language) as dialog:
            name = ui.input(_NAME.to(self._language)).classes("full-width").props("outlined maxlength=80")
            about = ui.textarea(_ABOUT.to(self._language)).classes("full-width").props("outlined autogrow")

            async def save() -> None:
                with saying(self._language):
                    wanted = (name.value or "").strip()
                    await self._site.app.curating.create(self._person, wanted, (about.value or "").strip())
                    await self._done(dialog, _SAVED.to(self._language))

            buttons(dialog, SAVE, save, self._language).mark("do")

    def _describe(self, info: CollectionInfo) -> None:
        with form(self._dialogs, _EDIT, self._language) as dialog:
            name = ui.input(_NAME.to(self._language), value=info.name).classes("full-width")
            name.props("outlined maxlength=80")
            about = ui.textarea(_ABOUT.to(self._language), value=info.description).classes("full-width")
            about.props("outlined autogrow")
            owner = ui.input(_OWNER.to(self._language), value=info.owner or "").classes("full-width")
            owner.props("outlined maxlength=120").mark("owner")

            async def save() -> None:
                with saying(self._language):
                    curating, wanted = self._site.app.curating, (name.value or "").strip()
                    if (owner.value or "").strip() != (info.owner or ""):
                        await curating.own(self._person, info, owner.value or "")
                    if wanted != info.name:
                        await curating.rename(self._person, info.name, wanted)
                    if (about.value or "").strip() != info.description:
                        await curating.describe(self._person, wanted, (about.value or "").strip())
                    await self._done(dialog, _SAVED.to(self._language))

            buttons(dialog, SAVE, save, self._language).mark("do")

    def _merge(self) -> None:
        language, names = self._language, [info.name for info in self._infos]
        with form(self._dialogs, _MERGE, self._language) as dialog:
            sources = ui.select(names, label=_FROM.to(language), multiple=True, value=[]).classes("full-width")
            sources.props("use-chips").mark("merge-from")
            into = components.collection_select(names, None, language, _INTO).classes("full-width").mark("merge-into")

            async def save() -> None:
                with saying(language):
                    target = (into.value or "").strip()
                    chosen: Sequence[str] = [name for name in sources.value or () if name != target]
                    if not target or not chosen:
                        ui.notify(_CHOOSE.to(language), type="warning")
                        return
                    if not await confirmed(await self._merging(chosen, target), _DO_MERGE.to(language), language):
                        return
                    moved = await self._site.app.curating.merge(self._person, chosen, target)
                    await self._done(dialog, _MERGED.to(language, n=moved, into=target))

            buttons(dialog, _DO_MERGE, save, self._language).mark("do")

    async def _merging(self, chosen: Sequence[str], target: str) -> str:
        """The question that is asked before a merge: how many documents go where, as far as they are seen here."""
        language, infos = self._language, await self._site.app.knowledge.collections(self._who.readers)
        held = {info.name: info.documents for info in infos}
        sources = [_ONE_OF.to(language, name=name, n=held.get(name, 0)) for name in chosen]
        into = (_ONE_OF if target in held else _NEW_ONE).to(language, name=target, n=held.get(target, 0))
        return _MERGE_SURE.to(language, sources=("、" if language == "ja" else ", ").join(sources), into=into)

    async def _delete(self, info: CollectionInfo) -> None:
        language = self._language
        with self._dialogs, saying(language):
            sure = _SURE.to(language, name=info.name, n=info.documents)
            if await confirmed(sure, _DELETE.to(language), language):
                n = await self._site.app.curating.delete(self._person, info.name)
                ui.notify(_DELETED.to(language, name=info.name, n=n), type="positive")
                await self._changed()

    async def _reindex(self, info: CollectionInfo) -> None:
        with self._dialogs, saying(self._language):
            rows = await self._site.app.knowledge.documents(self._who.readers, info.name)
            self._site.app.curating.reindex(self._person, rows, info.name)
            await self._changed()

    # -- forms ------------------------------------------------------------------------------------------------------

    async def _done(self, dialog: ui.dialog, text: str) -> None:
        dialog.close()
        ui.notify(text, type="positive")
        await self._changed()
