"""Reviewing pairs on their page: found by job, state and words; read beside their passage; edited, approved,
rejected."""

from collections.abc import Mapping, Sequence
from typing import cast

from nicegui import ui

from adapters.shared import expert_answers
from adapters.web.pages.qa_pairs.card import STATES, Decision, PairCard
from adapters.web.pages.qa_pairs.jobs import job_name
from adapters.web.pages.qa_pairs.reviewer import standing
from adapters.web.pages.shared import components
from adapters.web.pages.shared.address import chosen, note
from adapters.web.pages.shared.components import WORDS, LiveCards
from adapters.web.pages.shared.curators import person, readers_of
from adapters.web.pages.shared.dialogs import SAVE, buttons, confirmed, form
from adapters.web.pages.shared.layout import CLOSE, saying
from adapters.web.pages.shared.live import LastAsked
from adapters.web.visitor import Site, Visitor
from agent.qa_generation import ANSWER, QUESTION
from bot.qa_pairs.pairs import Pair, QaJob, Reviewer
from bot.records import DocumentRow, PairState
from retrieval.i18n import Text

_PAGE = 20

_TITLE = Text(en="Review", ja="ペアの確認")
_JOB, _STATE = Text(en="Job", ja="ジョブ"), Text(en="State", ja="状態")
_ALL = Text(en="all", ja="すべて")
_ONLY = Text(en="Only pairs from {name}", ja="「{name}」のペアだけを表示しています")
_EVERYTHING = Text(en="Show all", ja="すべて表示")
_NONE = Text(en="There are no pairs yet.", ja="Q/A ペアはまだありません。")
_NO_MATCH = Text(en="No pairs match.", ja="該当するペアはありません。")
_PAGE_OF = Text(en="page {page} of {pages}, {n} pair{n:|s}", ja="{page} / {pages} ページ（{n} 件）")
_BULK: dict[Decision, Text] = {
    "approved": Text(en="Approve all shown ({n})", ja="表示中の {n} 件をすべて承認"),
    "rejected": Text(en="Reject all shown ({n})", ja="表示中の {n} 件をすべて却下"),
}
_SURE: dict[Decision, Text] = {
    "approved": Text(
        en="Approve {n:this|these} {n} pair{n:|s}? From then on {n:it is|they are} found by: {readers}.",
        ja="この {n} 件を承認しますか？承認すると検索の対象になります。公開範囲: {readers}",
    ),
    "rejected": Text(en="Reject {n:this|these} {n} pair{n:|s}?", ja="この {n} 件を却下しますか？"),
}
_MARKED = Text(
    en="{n} of them are marked: their passage may not say this.",
    ja="うち {n} 件は、元の箇所の内容と合わない可能性があります。",
)
_DO: dict[Decision, Text] = {
    "approved": Text(en="Approve", ja="承認"),
    "rejected": Text(en="Reject", ja="却下"),
}
_DONE: dict[Decision, Text] = {
    "approved": Text(
        en="Approved: {n}. They are found from now on.", ja="{n} 件を承認しました。検索の対象になります。"
    ),
    "rejected": Text(en="Rejected: {n}.", ja="{n} 件を却下しました。"),
    "pending": Text(en="Back to review: {n}.", ja="{n} 件を未確認に戻しました。"),
}
_EDIT = Text(en="Edit the pair", ja="ペアを編集")
_SAVED = Text(en="Saved.", ja="保存しました。")


class PairReview:
    """The pairs that match, as this browser wants to see them."""

    def __init__(self, site: Site, who: Visitor) -> None:
        self.site = site
        self.who = who
        self._page = 1
        self._asking = LastAsked()
        self._shown: Sequence[Pair] = ()
        self._scopes = frozenset(site.app.curating.scopes(person(who)))
        self._document: DocumentRow | None = None

    async def build(self, document: DocumentRow | None, asked: Mapping[str, str]) -> None:
        """`document`: only its pairs; `asked`: the filters, as the address has them."""
        language = self.who.language
        self._document = document
        components.heading(_TITLE.to(language))
        self._ground = ui.element("div")  # of dialogs, which outlive the cards they were opened from
        if document is not None:
            with ui.row().classes("items-baseline"):
                ui.label(_ONLY.to(language, name=document.name))
                ui.link(_EVERYTHING.to(language), "/pairs")
        with ui.row().classes("kotae-filters"):
            states = {name: said.to(language) for name, said in STATES.items()} | {"": _ALL.to(language)}
            state = "" if asked.get("state") == "all" else chosen(asked, "state", states, "pending")
            self._state = ui.select(states, value=state, label=_STATE.to(language), on_change=self._first)
            self._state.mark("state")
            self._job = ui.select({"": _ALL.to(language)}, value="", label=_JOB.to(language), on_change=self._first)
            self._job.mark("job")
            words = asked.get("words", "")[:200]
            self._words = ui.input(WORDS.to(language), value=words, on_change=self._first).classes("col-grow")
            self._words.props("debounce=400 clearable maxlength=200").mark("words")
        self._counts = ui.label().classes("kotae-quiet")
        with ui.row():
            self._approve = ui.button("", icon="done_all", on_click=lambda: self._bulk("approved"))
            self._approve.props("outline no-caps").mark("approve-all")
            self._reject = ui.button("", icon="block", on_click=lambda: self._bulk("rejected")).props("flat no-caps")
        self._none = ui.label().classes("kotae-empty")
        self._cards = LiveCards(ui.column().classes("full-width"), self._card)
        self._foot, self._where = components.pager(self._turn, "", language)
        await self.refresh()

    def _card(self) -> PairCard:
        return PairCard(
            self.site.app.pairs, self.who, may_decide=self._may_decide, decide=self._decide_one, edit=self._edit
        )

    def _may_decide(self, pair: Pair) -> bool:
        """Whether this is theirs to decide; the backend decides about that again."""
        return pair.scope in self._scopes

    def jobs(self, jobs: Sequence[QaJob]) -> None:
        """The jobs to choose from."""
        options = {"": _ALL.to(self.who.language)} | {
            job.id: f"{job_name(job, self.who)} · {job.made_at.astimezone(self.who.zone):%m-%d %H:%M}"
            for job in jobs
            if job.pairs or job.id == self._job.value
        }
        if options != self._job.options:
            self._job.set_options(options, value=self._job.value if self._job.value in options else "")

    async def of_job(self, job: str) -> None:
        """Show the pairs of a job, in whatever state."""
        self._state.set_value("")
        self._words.set_value("")
        if job in self._job.options:
            self._job.set_value(job)
        await self._first()

    # -- what is shown -----------------------------------------------------------------------------------------------

    async def _first(self) -> None:
        self._page = 1
        note(
            document=self._document.id if self._document else "",
            state="" if self._state.value == "pending" else str(self._state.value) or "all",
            words=(self._words.value or "").strip(),
        )
        with saying(self.who.language):
            await self.refresh()

    async def _turn(self, by: int) -> None:
        self._page = max(1, self._page + by)
        with saying(self.who.language):
            await self.refresh()

    async def refresh(self) -> None:
        """Show them as they are now. Raises StoreError."""
        is_last, pairs, readers = self._asking.ask(), self.site.app.pairs, self.who.readers
        job, state = self._job.value or None, self._state.value
        document = self._document.id if self._document is not None else None
        states = (cast(PairState, state),) if state else ()
        words = (self._words.value or "").strip()[:200]

        async def page(number: int) -> tuple[Sequence[Pair], int]:
            found = await pairs.rows.listed(
                readers,
                job=job,
                document=document,
                states=states,
                containing=words,
                limit=_PAGE,
                offset=(number - 1) * _PAGE,
            )
            return found.pairs, found.total

        shown, total = await page(self._page)
        pages = max(1, -(-total // _PAGE))
        if self._page > pages:
            self._page = pages
            shown, total = await page(pages)
        counts = await pairs.rows.counts(readers, job=job, document=document)
        if is_last():
            self._put(shown, total, pages, counts)

    def _put(self, shown: Sequence[Pair], total: int, pages: int, counts: dict[str, int]) -> None:
        language = self.who.language
        self._shown = shown
        self._cards.show({str(pair.id): pair for pair in shown})
        self._counts.set_text(
            " · ".join(f"{said.to(language)} {counts.get(name, 0):,}" for name, said in STATES.items())
        )
        self._none.set_text((_NO_MATCH if counts else _NONE).to(language))
        self._none.set_visibility(not shown)
        self._foot.set_visibility(pages > 1)
        self._where.set_text(_PAGE_OF.to(language, page=self._page, pages=pages, n=f"{total:,}"))
        for what, button in (("approved", self._approve), ("rejected", self._reject)):
            decision = cast(Decision, what)
            n = len(self._these(decision))
            button.set_text(_BULK[decision].to(language, n=n))
            button.set_visibility(n > 1)

    # -- what is decided ---------------------------------------------------------------------------------------------

    def _these(self, decision: Decision) -> list[Pair]:
        """Of what is shown that which a decision about all is meant for: never what somebody has decided, unless just
        that was asked for."""
        state = self._state.value or "pending"
        return [
            pair
            for pair in self._shown
            if pair.state == state != decision
            and self._may_decide(pair)
            and not (decision == "approved" and pair.stale)
        ]

    async def _bulk(self, decision: Decision) -> None:
        language, these = self.who.language, self._these(decision)
        scopes = dict.fromkeys(readers_of(pair.scope, self.who) for pair in these)
        readers = ("、" if language == "ja" else ", ").join(scopes)
        question = _SURE[decision].to(language, n=len(these), readers=readers)
        if decision == "approved" and (marked := sum(pair.marked for pair in these)):
            question += "\n" + _MARKED.to(language, n=marked)
        with self._ground:
            if await confirmed(question, _DO[decision].to(language), language, bad=decision == "rejected"):
                await self._decide(these, decision)

    async def _decide_one(self, pair: Pair, decision: Decision) -> None:
        with self._ground:
            await self._decide([pair], decision)

    async def _decide(self, these: Sequence[Pair], decision: Decision) -> None:
        """Approve, reject or take back, each from the room that its readers are of; says what has happened and what
        not."""
        language, pairs = self.who.language, self.site.app.pairs
        act = {"approved": pairs.approve, "rejected": pairs.reject, "pending": pairs.reopen}[decision]
        groups: dict[Reviewer, list[int]] = {}
        for pair in these:
            groups.setdefault(standing(self.who, pair.scope), []).append(pair.id)
        with saying(language):
            for reviewer, ids in groups.items():
                decided = await act(ids, reviewer)
                if decided.changed:
                    ui.notify(_DONE[decision].to(language, n=decided.changed), type="positive")
                for refused in decided.refused:
                    ui.notify(refused.to(language), type="warning", timeout=8_000, close_button=CLOSE.to(language))
            await self.refresh()

    def _edit(self, pair: Pair) -> None:
        """Other words for a pair."""
        language = self.who.language
        with form(self._ground, _EDIT, language) as dialog:
            question = ui.textarea(expert_answers.QUESTION.to(language), value=pair.question).classes("full-width")
            question.props(f"outlined autogrow maxlength={QUESTION}").mark("question")
            answer = ui.textarea(expert_answers.ANSWER.to(language), value=pair.answer).classes("full-width")
            answer.props(f"outlined autogrow maxlength={ANSWER}").mark("answer")

            async def save() -> None:
                with saying(language):
                    who = standing(self.who, pair.scope)
                    await self.site.app.pairs.edit(pair.id, question.value or "", answer.value or "", who)
                    ui.notify(_SAVED.to(language), type="positive")
                    dialog.close()
                    await self.refresh()

            buttons(dialog, SAVE, save, language).mark("save")
