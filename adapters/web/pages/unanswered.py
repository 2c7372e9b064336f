"""Questions nobody could answer yet: alone or in groups, with where it was searched and what came closest; answered
here.

Source: product.md §4 and §6; seeds/0_agent_rag.md §6.3.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import cast, get_args

from nicegui import ui

from adapters.shared import expert_answers
from adapters.web.channel.rooms import actor, audience, deciding, place
from adapters.web.pages.shared import components
from adapters.web.pages.shared.address import chosen, note
from adapters.web.pages.shared.dialogs import answering, buttons, form
from adapters.web.pages.shared.layout import Page, saying
from adapters.web.pages.shared.live import LastAsked, kept_live
from adapters.web.visitor import Site, Visitor
from bot.records import MissState, WantedQuestions
from bot.texts import REASONS, STATES, complaints
from bot.turns.trace import TracedHit
from bot.types import AnswerGiven, AnswerTaken, MissReason, Question, after
from bot.unanswered.closing import Closing, closing
from bot.unanswered.questions import QuestionGroup, state_of
from retrieval.i18n import Text
from retrieval.types import Hit

_TITLE = Text(en="Unanswered", ja="未回答")
_PERIODS = {
    0: Text(en="at any time", ja="全期間"),
    7: Text(en="7 days", ja="7 日間"),
    30: Text(en="30 days", ja="30 日間"),
}
_STATE, _REASON = Text(en="State", ja="状態"), Text(en="Reason", ja="理由")
_ANY = Text(en="any", ja="すべて")
_TEXT, _SINCE = Text(en="Words in the question", ja="質問に含まれる語句"), Text(en="Asked", ja="期間")
_COLLECTION = Text(en="Searched in", ja="検索先")
_GROUPED, _LIST = Text(en="In groups", ja="グループ表示"), Text(en="One by one", ja="一覧表示")
_CSV = Text(en="Save as CSV", ja="CSV で保存")
_NONE = Text(en="No questions match. 🎉", ja="該当する質問はありません 🎉")
_HIDDEN = Text(en="and {n} in private places you are not in", ja="ほかに、参加していない非公開の場所で {n} 件")
_BEYOND = Text(en="{n} older ones are not grouped", ja="これより古い {n} 件はグループ分けしていません")
_TREND = Text(en="Week by week", ja="週ごとの推移")
_WEEKS = Text(en="Weeks begin on Monday in {zone}.", ja="各週は月曜日から始まります（{zone}）。")
_ASKED, _MISSED = Text(en="asked", ja="質問"), Text(en="missed", ja="未解決")
_CLOSED = Text(en="closed since", ja="その後解決")
_COUNT = Text(en="times asked: {n}, people: {people}", ja="{n} 回、{people} 人")
_TOGETHER = Text(en="The {n} questions", ja="{n} 件の質問")
_WHERE = Text(en="searched in: {names}", ja="検索先: {names}")
_NOWHERE = Text(en="no search", ja="検索なし")
_BEST = Text(en="best relevance {best:.2f}", ja="最高関連度 {best:.2f}")
_TRACE, _THREAD = Text(en="How I searched", ja="検索の過程"), Text(en="Thread", ja="スレッド")
_CLOSEST = Text(en="Closest passages", ja="近い箇所")
_THEN, _NOW = Text(en="When it was asked", ja="質問時"), Text(en="Now", ja="現在")
_NOTHING = Text(en="nothing", ja="なし")
_DISMISS = Text(en="Dismiss", ja="回答せずに閉じる")
_SURE = Text(en="Close this without an answer? Nobody is told.", ja="回答せずに閉じますか？質問者には通知されません。")
_YES = Text(en="Close it", ja="閉じる")
_DONE = Text(en="Closed: {n}.", ja="{n} 件を閉じました。")
_SAVE = Text(en="Save the answer", ja="回答を保存")
_PAGE_OF = Text(en="page {page} of {pages}", ja="{page} / {pages} ページ")

_Drawing = tuple[int, Callable[[], None]]  # how many pages there are, and what draws this one


class _List:
    """The questions that match, as this browser wants to see them."""

    def __init__(self, site: Site, who: Visitor) -> None:
        self._site = site
        self._who = who
        self._page = 1
        self._asking = LastAsked()
        # Of dialogs, which outlive the rows they were opened from.
        self._ground = ui.element("div").classes("kotae-ground")

    async def build(self, asked: Mapping[str, str]) -> None:
        """`asked`: the filters, as the address has them."""
        language = self._who.language
        names = [info.name for info in await self._site.app.knowledge.collections(self._who.readers)]
        with ui.row().classes("kotae-filters"):
            states = {name: said.to(language) for name, said in STATES.items()}
            state = chosen(asked, "state", states, "open")
            self._state = ui.select(states, value=state, label=_STATE.to(language), on_change=self._first)
            reasons = {"": _ANY.to(language)} | {name: said.to(language) for name, said in REASONS.items()}
            reason = chosen(asked, "reason", reasons, "")
            self._reason = ui.select(reasons, value=reason, label=_REASON.to(language), on_change=self._first)
            where = {"": _ANY.to(language)} | {name: name for name in names}
            collection = chosen(asked, "collection", where, "")
            self._where = ui.select(where, value=collection, label=_COLLECTION.to(language), on_change=self._first)
            periods = {days: said.to(language) for days, said in _PERIODS.items()}
            days = chosen(asked, "days", periods, 0)
            self._since = ui.select(periods, value=days, label=_SINCE.to(language), on_change=self._first)
            text = asked.get("text", "")[:200]
            self._text = ui.input(_TEXT.to(language), value=text, on_change=self._first)
            self._text.props("debounce=400 clearable").mark("text")
            self._text.classes("kotae-grow")
            kinds = {"groups": _GROUPED.to(language), "list": _LIST.to(language)}
            kind = chosen(asked, "view", kinds, "groups")
            self._kind = ui.toggle(kinds, value=kind, on_change=self._first).props("no-caps unelevated")
            ui.button(_CSV.to(language), icon="download", on_click=self._csv).props("flat no-caps")
        self._listed = ui.column().classes("full-width")
        async with kept_live(self._counted, self._fill):
            await self._fill()
        components.heading(_TREND.to(language))
        weeks = await self._site.app.unanswered.trend()
        series = {
            _ASKED.to(language): [week.asked for week in weeks],
            _MISSED.to(language): [week.missed for week in weeks],
            _CLOSED.to(language): [week.closed for week in weeks],
        }
        components.chart(_TREND.to(language), [f"{week.day:%m-%d}" for week in weeks], series)
        ui.label(_WEEKS.to(language, zone=self._site.app.settings.timezone_name)).classes("kotae-quiet")

    @property
    def _wanted(self) -> WantedQuestions:
        days = int(self._since.value or 0)
        return WantedQuestions(
            state=cast(MissState, self._state.value),
            reason=cast(MissReason, self._reason.value) if self._reason.value in get_args(MissReason) else None,
            collection=self._where.value or None,
            text=(self._text.value or "").strip()[:200],
            since=datetime.now(UTC) - timedelta(days=days) if days else None,
        )

    async def _counted(self) -> object:
        """The questions that match, as far as they are counted without reading them."""
        found = await self._site.app.unanswered.page(self._wanted, self._who.readers, size=1)
        return found.shown, found.hidden, [one.id for one in found.questions]

    async def _first(self) -> None:
        self._page = 1
        note(
            state="" if self._state.value == "open" else str(self._state.value),
            reason=str(self._reason.value),
            collection=str(self._where.value),
            days=str(self._since.value or ""),
            text=self._wanted.text,
            view="" if self._kind.value == "groups" else str(self._kind.value),
        )
        with saying(self._who.language):
            await self._fill()

    async def _fill(self) -> None:
        is_last, list_of = self._asking.ask(), self._groups if self._kind.value == "groups" else self._questions
        pages, draw = await list_of(self._wanted)
        if not is_last():
            return
        if self._page > pages:  # the last of its page is closed
            self._page = pages
            await self._fill()
            return
        self._listed.clear()
        with self._listed:
            draw()

    async def _groups(self, wanted: WantedQuestions) -> _Drawing:
        found = await self._site.app.unanswered.groups(wanted, self._who.readers, page=self._page)

        def draw() -> None:
            for group in found.groups:
                self._group(group)
            if found.beyond:
                ui.label(_BEYOND.to(self._who.language, n=found.beyond)).classes("kotae-quiet")
            self._foot(bool(found.groups), found.hidden, found.pages)

        return found.pages, draw

    async def _questions(self, wanted: WantedQuestions) -> _Drawing:
        found = await self._site.app.unanswered.page(wanted, self._who.readers, page=self._page)

        def draw() -> None:
            for question in found.questions:
                with ui.element("div").classes("kotae-card"):
                    self._question(question)
                    self._actions([question], question.id)
            self._foot(bool(found.questions), found.hidden, found.pages)

        return found.pages, draw

    def _foot(self, any_shown: bool, hidden: int, pages: int) -> None:
        language = self._who.language
        if not any_shown:
            components.empty(_NONE.to(language))
        if hidden:
            ui.label(_HIDDEN.to(language, n=hidden)).classes("kotae-quiet")
        if pages > 1:

            async def turn(by: int) -> None:
                self._page = min(max(self._page + by, 1), pages)
                with saying(language):
                    await self._fill()

            components.pager(turn, _PAGE_OF.to(language, page=self._page, pages=pages), language)

    # -- a question ----------------------------------------------------------------------------------------------------

    def _group(self, group: QuestionGroup) -> None:
        language = self._who.language
        with ui.element("div").classes("kotae-card"):
            ui.label(after(group.group.before, group.group.question)).classes("text-weight-medium kotae-pre")
            details = [_COUNT.to(language, n=group.group.count, people=group.group.askers)]
            details += [f"{REASONS[reason].to(language)} {count}" for reason, count in group.group.reasons]
            ui.label(" · ".join(details)).classes("kotae-quiet")
            if len(group.questions) > 1:
                with ui.expansion(_TOGETHER.to(language, n=len(group.questions))).classes("kotae-source"):
                    for question in group.questions:
                        self._question(question)
            else:
                self._about(group.questions[0])
            self._actions(group.questions, group.group.reference)

    def _question(self, question: Question) -> None:
        ui.label(question.whole).classes("text-weight-medium kotae-pre")
        self._about(question)

    def _about(self, question: Question) -> None:
        language = self._who.language
        searched = ("、" if language == "ja" else ", ").join(question.searched) or _NOWHERE.to(language)
        details = [
            REASONS[question.reason].to(language),
            _WHERE.to(language, names=searched),
        ]
        if question.confidence is not None:
            details.append(_BEST.to(language, best=question.confidence))
        if question.resolved_at is not None:
            details.append(STATES[state_of(question)].to(language))
        with ui.row().classes("kotae-about kotae-quiet"):
            components.When(self._who, question.asked_at)
            ui.label(" · ".join(details)).classes("kotae-wrap")
        if question.detail:
            ui.label("\n".join(complaints(question.detail, language))).classes("kotae-pre kotae-warn")
        with ui.row():
            ui.link(_TRACE.to(language), f"/trace/{question.turn}")
            components.link(_THREAD.to(language), question.link)
        self._closest(question)

    def _closest(self, question: Question) -> None:
        language = self._who.language
        with ui.expansion(_CLOSEST.to(language)).classes("kotae-source") as closest:
            body = ui.column().classes("full-width")

        async def show() -> None:
            if not closest.value:
                return
            body.clear()
            with body, saying(language, inline=True):
                found = await self._site.app.unanswered.nearest(question.id, self._who.readers)
                for said, hits in ((_THEN, found.then if found else ()), (_NOW, found.now if found else ())):
                    ui.label(said.to(language)).classes("text-weight-bold")
                    if not hits:
                        ui.label(_NOTHING.to(language)).classes("kotae-quiet")
                    for hit in hits:
                        self._hit(hit)

        closest.on_value_change(show)

    def _hit(self, hit: TracedHit | Hit) -> None:
        language = self._who.language
        name, collection, text, url = (
            (hit.document, hit.collection, hit.text, hit.url)
            if isinstance(hit, TracedHit)
            else (hit.passage.document, hit.passage.collection, hit.passage.text, hit.passage.url)
        )
        ui.label(f"{name or '–'} ({collection}) · {hit.relevance:.2f}").classes("kotae-quiet")
        if text:
            components.passage(text, url, language)

    # -- what is done about it ---------------------------------------------------------------------------------------

    def _actions(self, questions: Sequence[Question], reference: int) -> None:
        still = [one for one in questions if one.resolved_at is None]
        answered = closing(still, reference) or closing(still)
        if answered is not None:
            language = self._who.language
            with ui.row():
                ui.button(expert_answers.TITLE.to(language), on_click=lambda: self._teach(answered)).props(
                    "unelevated no-caps"
                )
                ui.button(_DISMISS.to(language), on_click=lambda: self._dismiss(still)).props("flat no-caps")

    def _teach(self, found: Closing) -> None:
        questions, opened = (*found.closes, *found.others), expert_answers.to_answer(found)
        room = deciding(self._who.member, {one.scope for one in questions})

        async def teach(answer: str, better: str, chosen: expert_answers.Ticks) -> AnswerTaken:
            lesson = AnswerGiven(
                actor(self._who.member),
                place(room),
                audience(room),
                tuple(one.id for one in questions),
                answer,
                better,
                reference=opened.reference,
                closes=chosen.closes,
                leaves=chosen.leaves,
            )
            taught = await self._site.app.bot.experts.answer(lesson)
            if taught.refusal is None:
                await self._fill()
            return taught

        answering(self._ground, opened, _SAVE, teach, self._who.language)

    def _dismiss(self, questions: Sequence[Question]) -> None:
        language, room = self._who.language, deciding(self._who.member, {one.scope for one in questions})
        with form(self._ground, _DISMISS, language) as dialog:
            ui.label(_SURE.to(language))

            async def close() -> None:
                with saying(language):
                    taught = await self._site.app.bot.experts.dismiss(
                        actor(self._who.member), [one.id for one in questions], place(room), audience(room)
                    )
                    if taught.refusal is not None:
                        ui.notify(taught.refusal.to(language), type="warning")
                    else:
                        ui.notify(_DONE.to(language, n=len(taught.closed)))
                    dialog.close()
                    await self._fill()

            buttons(dialog, _YES, close, language)

    async def _csv(self) -> None:
        with saying(self._who.language):
            who, unanswered = self._who, self._site.app.unanswered
            data = await unanswered.csv(self._wanted, who.readers, who.language, who.zone)
            ui.download.content(data, "kotae-unanswered.csv", "text/csv")


PAGE = Page(
    "/unanswered", _TITLE, "help_outline", lambda site, who, request: _List(site, who).build(request.query_params)
)
