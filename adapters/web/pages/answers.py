"""Answers of members: corrected or taken back by whoever wrote it, or by an editor. Source: product.md §4."""

from nicegui import ui
from starlette.requests import Request

from adapters.web.channel.rooms import actor
from adapters.web.pages.shared import components
from adapters.web.pages.shared.curators import readers_of
from adapters.web.pages.shared.dialogs import buttons, confirmed, form
from adapters.web.pages.shared.layout import Page, saying
from adapters.web.pages.shared.live import kept_live
from adapters.web.visitor import Site, Visitor
from bot.records import Changed, ExpertAnswer
from bot.unanswered.digest_card import safe_link
from retrieval.i18n import Text

PAGE_SIZE = 20  # answers

_TITLE = Text(en="Answers", ja="回答")
_ABOUT = Text(
    en="What members answered to questions the documents had no answer to. Whoever wrote one, or an editor, can "
    "change it.",
    ja="文書では答えられなかった質問への、メンバーの回答です。書いた本人か編集者が変更できます。",
)
_NONE = Text(en="Nobody has answered a question yet.", ja="メンバーの回答はまだありません。")
_WRITTEN = Text(en="written by {author} on {day}", ja="{author} が {day} に回答")
_UNSIGNED = Text(en="written on {day}", ja="{day} に回答")
_EDITED = Text(en="edited by {editor} on {day}", ja="{editor} が {day} に編集")
_ALSO = Text(en="also asked as", ja="ほかの聞き方")
_OPEN = Text(en="Where it was answered", ja="回答した場所")
_EDIT, _SAVE = Text(en="Edit", ja="編集"), Text(en="Save", ja="保存")
_ANSWER = Text(en="Answer", ja="回答")
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
_RANGE = Text(en="{first}–{last} of {total}", ja="{total} 件中 {first}～{last} 件")
_BACK, _NEXT = Text(en="Previous page", ja="前のページ"), Text(en="Next page", ja="次のページ")


class _Answers:
    """The answers that this browser's member may read, the latest first."""

    def __init__(self, site: Site, who: Visitor) -> None:
        self._answers = site.app.answers
        self._knowledge = site.app.knowledge
        self._zone = site.app.settings.timezone
        self._who = who
        self._start = 0
        self._ground = ui.element("div").classes("kotae-ground")  # of dialogs, which outlive what they were opened from

    async def build(self) -> None:
        ui.label(_ABOUT.to(self._who.language)).classes("kotae-quiet")
        self._listed = ui.column().classes("full-width")
        await self._fill()
        await kept_live(self._state, self._fill)

    async def _state(self) -> int:
        return self._knowledge.generation

    async def _fill(self) -> None:
        found, total = await self._answers.listed(self._who.readers, start=self._start, limit=PAGE_SIZE)
        self._listed.clear()
        with self._listed:
            if not found:
                components.empty(_NONE.to(self._who.language))
            for one in found:
                self._answer(one)
            if total > PAGE_SIZE:
                self._pages(len(found), total)

    def _pages(self, shown: int, total: int) -> None:
        language = self._who.language

        async def turn(by: int) -> None:
            self._start = min(max(self._start + by, 0), (total - 1) // PAGE_SIZE * PAGE_SIZE)
            with saying(language):
                await self._fill()

        with ui.row().classes("items-center"):
            ui.button("←", on_click=lambda: turn(-PAGE_SIZE)).props(f'flat aria-label="{_BACK.to(language)}"')
            ui.label(_RANGE.to(language, first=self._start + 1, last=self._start + shown, total=total))
            ui.button("→", on_click=lambda: turn(PAGE_SIZE)).props(f'flat aria-label="{_NEXT.to(language)}"')

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
                if (link := safe_link(one.row.url)) is not None:
                    ui.link(_OPEN.to(language), link)
                if self._answers.may_change(actor(self._who.member), one.row):
                    ui.button(_EDIT.to(language), on_click=lambda: self._edit(one)).props("flat no-caps")
                    ui.button(_TAKE_BACK.to(language), on_click=lambda: self._take_back(one)).props("flat no-caps")

    def _facts(self, one: ExpertAnswer) -> list[str]:
        language = self._who.language
        day = one.row.added_at.astimezone(self._zone).date().isoformat()
        said = _WRITTEN if one.row.author else _UNSIGNED
        facts = [said.to(language, author=one.row.author, day=day)]
        if one.edited is not None and one.edited.at is not None:
            edited = one.edited.at.astimezone(self._zone).date().isoformat()
            facts.append(_EDITED.to(language, editor=one.edited.actor.partition(":")[2], day=edited))
        return [*facts, readers_of(one.row.scope, self._who)]

    def _edit(self, one: ExpertAnswer) -> None:
        language = self._who.language
        with form(self._ground, _EDIT, language) as dialog:
            for wording in one.wordings:
                ui.label(wording).classes("kotae-pre")
            answer = ui.textarea(_ANSWER.to(language), value=one.answer).classes("full-width")
            answer.props("outlined autogrow")
            ui.label(_TOLD.to(language)).classes("kotae-quiet")

            async def save() -> None:
                with saying(language):
                    who, text = actor(self._who.member), answer.value or ""
                    if self._done(await self._answers.edit(who, self._who.readers, one.row.id, text), _SAVED):
                        dialog.close()
                        await self._fill()

            buttons(dialog, _SAVE, save, language)

    async def _take_back(self, one: ExpertAnswer) -> None:
        language = self._who.language
        question = one.wordings[0] if one.wordings else one.row.name
        if await confirmed(_SURE.to(language, question=question), _TAKE_BACK.to(language), language):
            with saying(language):
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


async def _build(site: Site, who: Visitor, request: Request) -> None:
    await _Answers(site, who).build()


PAGE = Page("/answers", _TITLE, "fact_check", _build)
