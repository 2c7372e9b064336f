"""All Q/A pairs in one list: what members answered, rows of files, and what the model wrote and somebody approved;
edited and taken out where they stand. Source: product.md §4 and §6."""

from collections.abc import Mapping
from typing import cast

from nicegui import ui

from adapters.shared.expert_answers import ANSWER, QUESTION
from adapters.web.channel.rooms import actor
from adapters.web.pages.qa_pairs.reviewer import standing
from adapters.web.pages.shared import components
from adapters.web.pages.shared.address import chosen, note
from adapters.web.pages.shared.components import WORDS
from adapters.web.pages.shared.curators import person, readers_of
from adapters.web.pages.shared.dialogs import SAVE, buttons, confirmed, form
from adapters.web.pages.shared.layout import Page, saying
from adapters.web.pages.shared.live import LastAsked, kept_live
from adapters.web.visitor import Site, Visitor
from bot.qa_pairs.listing import Kind, ListedPair
from bot.records import Changed, ExpertAnswer
from retrieval.i18n import Text

PAGE_SIZE = 20  # pairs

_TITLE = Text(en="Q/A pairs", ja="Q/A 一覧")
_ABOUT = Text(
    en="Every question that has its answer written down: by members, in rows of files, or by the model and approved. "
    "Whoever wrote one, or an editor, can change it.",
    ja="回答が登録されているすべての質問です（メンバーの回答、ファイルの行、モデルが作成し承認されたもの）。"
    "書いた本人か編集者が変更できます。",
)
_NONE = Text(en="There are no pairs yet.", ja="Q/A はまだありません。")
_NO_MATCH = Text(en="No pairs match.", ja="該当する Q/A はありません。")
_KIND, _ALL = Text(en="Written by", ja="作成元"), Text(en="anyone", ja="すべて")
_KINDS: Mapping[Kind, Text] = {
    "expert": Text(en="members", ja="メンバーの回答"),
    "file": Text(en="rows of files", ja="ファイルの行"),
    "model": Text(en="the model", ja="モデルが作成"),
}
_CSV = Text(en="Save as CSV", ja="CSV で保存")
_WRITTEN = Text(en="written by {author} on {day}", ja="{author} が {day} に回答")
_UNSIGNED = Text(en="written on {day}", ja="{day} に回答")
_EDITED = Text(en="edited by {editor} on {day}", ja="{editor} が {day} に編集")
_ALSO = Text(en="also asked as", ja="ほかの聞き方")
_OPEN = Text(en="Where it was answered", ja="回答した場所")
_EDIT = Text(en="Edit", ja="編集")
_UNTIL = Text(
    en="If this file is added again with a different text, that text replaces this one.",
    ja="このファイルが別の内容でもう一度登録されると、その内容が優先されます。",
)
_PUT = Text(en="Saved. It is found by these words from now on.", ja="保存しました。この内容で検索されます。")
_REMOVE = Text(en="Remove", ja="削除")
_REMOVED = Text(en="Removed. It is not found any more.", ja="削除しました。検索されなくなりました。")
_SURE_REMOVE = Text(
    en="Remove this pair? It is not found any more.\n\n{question}",
    ja="この Q/A を削除しますか？検索されなくなります。\n\n{question}",
)
_TOLD = Text(
    en="Those who were told the answer will be told the new one.",
    ja="以前の回答をお知らせした人に、新しい回答をお知らせします。",
)
_SAVED = Text(en="Corrected. Threads that are told: {n}.", ja="修正しました。{n} 件のスレッドにお知らせします。")
_TAKE_BACK = Text(en="Take back", ja="取り消す")
_SURE = Text(
    en="Take this answer back? It is not found any more, and its questions are open again.\n\n{question}",
    ja="この回答を取り消しますか？検索されなくなり、質問は未回答に戻ります。\n\n{question}",
)
_TAKEN = Text(
    en="Taken back. Questions that are open again: {n}.", ja="取り消しました。{n} 件の質問が未回答に戻りました。"
)


class _Pairs:
    """The pairs that this browser's member may read, those of the latest document first."""

    def __init__(self, site: Site, who: Visitor) -> None:
        self._pairs = site.app.all_pairs
        self._answers = site.app.answers
        self._curating = site.app.curating
        self._knowledge = site.app.knowledge
        self._who = who
        self._start = 0
        self._asking = LastAsked()
        self._drawn: object = None
        self._ground = ui.element("div").classes("kotae-ground")  # of dialogs, which outlive what they were opened from

    async def build(self, asked: Mapping[str, str]) -> None:
        """`asked`: the filters, as the address has them."""
        language = self._who.language
        ui.label(_ABOUT.to(language)).classes("kotae-quiet")
        with ui.row().classes("kotae-filters"):
            kinds = {"": _ALL.to(language)} | {kind: said.to(language) for kind, said in _KINDS.items()}
            kind = chosen(asked, "kind", kinds, "")
            self._kind = ui.select(kinds, value=kind, label=_KIND.to(language), on_change=self._first).mark("kind")
            words = asked.get("words", "")[:200]
            self._words = ui.input(WORDS.to(language), value=words, on_change=self._first).classes("col-grow")
            self._words.props("debounce=400 clearable maxlength=200").mark("words")
            ui.button(_CSV.to(language), icon="download", on_click=self._csv).props("flat no-caps").mark("csv")
        self._listed = ui.column().classes("full-width")
        async with kept_live(self._knowledge.generation, self._fill):
            await self._fill()

    async def _first(self) -> None:
        self._start = 0
        note(kind=self._kind.value or "", words=(self._words.value or "").strip())
        with saying(self._who.language):
            await self._fill()

    @property
    def _wanted(self) -> Kind | None:
        return cast(Kind, self._kind.value) if self._kind.value else None

    @property
    def _containing(self) -> str:
        return (self._words.value or "").strip()[:200]

    async def _fill(self) -> None:
        is_last, words, readers = self._asking.ask(), self._containing, self._who.readers
        found, total = await self._pairs.listed(
            readers, kind=self._wanted, containing=words, start=self._start, limit=PAGE_SIZE
        )
        if not found and total and is_last():  # the last of its page is gone
            self._start = (total - 1) // PAGE_SIZE * PAGE_SIZE
            await self._fill()
            return
        experts = [await self._answers.get(one.row.id, readers) if one.kind == "expert" else None for one in found]
        drawn = (found, experts, total, self._start)
        if not is_last() or drawn == self._drawn:  # nobody's button goes away under their finger
            return
        self._drawn = drawn
        self._listed.clear()
        with self._listed:
            if not found:
                components.empty((_NO_MATCH if words or self._wanted else _NONE).to(self._who.language))
            for one, expert in zip(found, experts, strict=True):
                if isinstance(expert, ExpertAnswer):
                    self._answer(expert)
                else:
                    self._pair(one)
            if total > PAGE_SIZE:
                self._pages(len(found), total)

    async def _csv(self) -> None:
        with saying(self._who.language):
            data = await self._pairs.table(self._who.readers, kind=self._wanted, containing=self._containing)
            ui.download.content(data, "kotae-pairs.csv", "text/csv")

    def _pages(self, shown: int, total: int) -> None:
        language = self._who.language

        async def turn(by: int) -> None:
            self._start = min(max(self._start + by * PAGE_SIZE, 0), (total - 1) // PAGE_SIZE * PAGE_SIZE)
            with saying(language):
                await self._fill()

        where = components.RANGE.to(language, first=self._start + 1, last=self._start + shown, total=total)
        components.pager(turn, where, language)

    def _answer(self, one: ExpertAnswer) -> None:
        language = self._who.language
        with ui.element("div").classes("kotae-card"):
            ui.label(one.wordings[0] if one.wordings else one.row.name).classes("text-weight-medium kotae-pre")
            ui.label(one.answer).classes("kotae-pre")
            if one.wordings[1:]:
                with ui.expansion(f"{_ALSO.to(language)} ({len(one.wordings) - 1})").classes("kotae-source"):
                    for wording in one.wordings[1:]:
                        ui.label(wording).classes("kotae-pre")
            ui.label(" · ".join(self._facts(one))).classes("kotae-quiet")
            with ui.row():
                components.link(_OPEN.to(language), one.row.url)
                if self._answers.may_change(actor(self._who.member), one.row):
                    ui.button(_EDIT.to(language), on_click=lambda: self._edit(one)).props("flat no-caps")
                    ui.button(_TAKE_BACK.to(language), on_click=lambda: self._take_back(one)).props("flat no-caps")

    def _pair(self, one: ListedPair) -> None:
        """A row of a file, or what the model wrote."""
        language, row = self._who.language, one.row
        theirs = person(self._who)
        may = (
            row.scope in self._curating.scopes(theirs)
            if one.kind == "model"
            else self._curating.may_change(theirs, row)
        )
        with ui.element("div").classes("kotae-card"):
            ui.label(one.pair.question).classes("text-weight-medium kotae-pre")
            ui.label(one.pair.answer).classes("kotae-pre")
            with ui.row().classes("items-baseline kotae-about"):
                ui.label(_KINDS[one.kind].to(language)).classes("kotae-quiet")
                address = components.in_document(row.id, one.written.chunk)
                ui.link(row.name, address).classes("kotae-pre")
                ui.label(f"{row.collection} · {readers_of(row.scope, self._who)}").classes("kotae-quiet")
            if may:
                with ui.row():
                    ui.button(_EDIT.to(language), on_click=lambda: self._edit_pair(one)).props("flat no-caps")
                    ui.button(_REMOVE.to(language), on_click=lambda: self._remove(one)).props("flat no-caps")

    def _edit_pair(self, one: ListedPair) -> None:
        language = self._who.language
        with form(self._ground, _EDIT, language) as dialog:
            question = ui.textarea(QUESTION.to(language), value=one.pair.question).classes("full-width")
            question.props("outlined autogrow").mark("question")
            answer = ui.textarea(ANSWER.to(language), value=one.pair.answer).classes("full-width")
            answer.props("outlined autogrow").mark("answer")
            if one.kind == "file":
                ui.label(_UNTIL.to(language)).classes("kotae-quiet")

            async def save() -> None:
                with saying(language):
                    who = standing(self._who, one.row.scope)
                    said = question.value or "", answer.value or ""
                    await self._pairs.edit(who, person(self._who), one, *said)
                    ui.notify(_PUT.to(language), type="positive")
                    dialog.close()
                    await self._fill()

            buttons(dialog, SAVE, save, language).mark("save")

    async def _remove(self, one: ListedPair) -> None:
        language = self._who.language
        with self._ground:
            sure = await confirmed(
                _SURE_REMOVE.to(language, question=one.pair.question), _REMOVE.to(language), language
            )
            if sure:
                with saying(language):
                    await self._pairs.remove(standing(self._who, one.row.scope), person(self._who), one)
                    ui.notify(_REMOVED.to(language), type="positive")
                    await self._fill()

    def _facts(self, one: ExpertAnswer) -> list[str]:
        language = self._who.language
        day = one.row.added_at.astimezone(self._who.zone).date().isoformat()
        said = _WRITTEN if one.row.author else _UNSIGNED
        facts = [said.to(language, author=one.row.author, day=day)]
        if one.edited is not None and one.edited.at is not None:
            edited = one.edited.at.astimezone(self._who.zone).date().isoformat()
            facts.append(_EDITED.to(language, editor=one.edited.actor.partition(":")[2], day=edited))
        return [*facts, readers_of(one.row.scope, self._who)]

    def _edit(self, one: ExpertAnswer) -> None:
        language = self._who.language
        with form(self._ground, _EDIT, language) as dialog:
            for wording in one.wordings:
                ui.label(wording).classes("kotae-pre")
            answer = ui.textarea(ANSWER.to(language), value=one.answer).classes("full-width")
            answer.props("outlined autogrow")
            ui.label(_TOLD.to(language)).classes("kotae-quiet")

            async def save() -> None:
                with saying(language):
                    who, text = actor(self._who.member), answer.value or ""
                    if self._done(await self._answers.edit(who, self._who.readers, one.row.id, text), _SAVED):
                        dialog.close()
                        await self._fill()

            buttons(dialog, SAVE, save, language).mark("save")

    async def _take_back(self, one: ExpertAnswer) -> None:
        language = self._who.language
        question = one.wordings[0] if one.wordings else one.row.name
        with self._ground, saying(language):
            if await confirmed(_SURE.to(language, question=question), _TAKE_BACK.to(language), language):
                who = actor(self._who.member)
                self._done(await self._answers.take_back(who, self._who.readers, one.row.id), _TAKEN)
                await self._fill()

    def _done(self, changed: Changed, said: Text) -> bool:
        """Says what became of a change."""
        language = self._who.language
        if changed.refusal is not None:
            ui.notify(changed.refusal.to(language), type="warning")
            return False
        ui.notify(said.to(language, n=changed.told or changed.reopened), type="positive")
        return True


PAGE = Page("/answers", _TITLE, "fact_check", lambda site, who, request: _Pairs(site, who).build(request.query_params))
