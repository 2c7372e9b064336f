"""The jobs that have pairs written, on their page: how far each is, paused, resumed, cancelled."""

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from adapters.web.pages.qa_pairs.reviewer import standings
from adapters.web.pages.shared import components
from adapters.web.pages.shared.components import LiveCards
from adapters.web.pages.shared.dialogs import confirmed
from adapters.web.pages.shared.layout import saying
from adapters.web.visitor import Site, Visitor
from bot.qa_pairs.pairs import QaJob, Reviewer
from bot.records import ChunkState
from retrieval.i18n import Text

_OPEN = ("running", "paused")
_NEWEST = 2  # that are shown also when they have ended

_TITLE = Text(en="Jobs", ja="ジョブ")
_NONE = Text(en="There are no jobs yet.", ja="ジョブはまだありません。")
_EARLIER = Text(en="Earlier jobs ({n})", ja="以前のジョブ（{n} 件）")
_OF_DOCUMENT = Text(en="{name} ({collection})", ja="{name}（{collection}）")
_OF_COLLECTION = Text(en="Collection {collection}", ja="コレクション {collection}")
_PROGRESS = Text(en="Progress", ja="進み具合")
_SO_FAR = Text(
    en="{finished} of {total} passages · {pairs} pair{pairs:|s}, {pending} of them to review · {calls} "
    "call{calls:|s}, {tokens} token{tokens:|s} · {model}",
    ja="{finished}/{total} か所 · ペア {pairs} 件（未確認 {pending} 件） · 呼び出し {calls} 回、{tokens} トークン · "
    "{model}",
)
_DROPPED = Text(
    en="{n} pair{n:|s} left out: {n:its|their} passage does not say it", ja="元の箇所で裏付けられず除外したペア {n} 件"
)
_LEFT_OUT: dict[ChunkState, Text] = {
    "failed": Text(en="{n} passage{n:|s} failed; {n:it|they} can be retried", ja="失敗 {n} か所（再実行できます）"),
    "blocked": Text(en="{n} passage{n:|s} refused by the model", ja="モデルが処理を拒否 {n} か所"),
    "stale": Text(en="{n} passage{n: has|s have} changed since", ja="途中で更新 {n} か所"),
}
_PAUSE = Text(en="Pause", ja="一時停止")
_RESUME, _AGAIN = Text(en="Resume", ja="再開"), Text(en="Retry the failed ones", ja="失敗分を再実行")
_CANCEL = Text(en="Cancel the job", ja="中止")
_SURE = Text(
    en="Cancel this job? The pairs it has written stay for review.",
    ja="このジョブを中止しますか？作成済みのペアは残り、引き続き確認できます。",
)
_SHOW = Text(en="Show its pairs", ja="ペアを表示")


def job_name(job: QaJob, who: Visitor) -> str:
    said = _OF_COLLECTION if job.name is None else _OF_DOCUMENT
    return said.to(who.language, name=job.name or "", collection=job.collection)


class QaJobs:
    """`show` shows the pairs of a job; `changed` is called after what was done here."""

    def __init__(
        self, site: Site, who: Visitor, show: Callable[[str], Awaitable[None]], changed: Callable[[], Awaitable[None]]
    ) -> None:
        self.site = site
        self.who = who
        self.show = show
        self.changed = changed

    def build(self) -> None:
        language = self.who.language
        components.heading(_TITLE.to(language))
        self.ground = ui.element("div")  # of dialogs, which outlive the cards they were opened from
        self._none = ui.label(_NONE.to(language)).classes("kotae-empty")
        self._cards = LiveCards(ui.column().classes("full-width"), lambda: _Card(self))
        with ui.expansion("").classes("kotae-source") as self._earlier:
            self._ended = LiveCards(ui.column().classes("full-width"), lambda: _Card(self))

    def put(self, jobs: Sequence[QaJob]) -> None:
        """Show them as they are now, newest first."""
        shown = {job.id: job for at, job in enumerate(jobs) if at < _NEWEST or job.state in _OPEN}
        earlier = {job.id: job for job in jobs if job.id not in shown}
        self._none.set_visibility(not jobs)
        self._cards.show(shown)
        self._ended.show(earlier)
        self._earlier.set_text(_EARLIER.to(self.who.language, n=len(earlier)))
        self._earlier.set_visibility(bool(earlier))


class _Card:
    def __init__(self, jobs: QaJobs) -> None:
        self._jobs = jobs
        self._job: QaJob | None = None
        language = jobs.who.language
        with ui.column().classes("kotae-card") as self.root:
            with ui.row().classes("items-baseline"):
                self._name = ui.label().classes("text-weight-bold kotae-pre")
                self._when = components.When(jobs.who).classes("kotae-quiet")
            self._status = ui.label()
            self._bar = ui.linear_progress(0, show_value=False, size="8px")
            self._bar.props(f'rounded aria-label="{_PROGRESS.to(language)}"')
            self._so_far = ui.label().classes("kotae-quiet")
            self._left = ui.label().classes("kotae-warn")
            with ui.row():
                pairs = jobs.site.app.pairs
                self._pause = ui.button(_PAUSE.to(language), icon="pause", on_click=lambda: self._do(pairs.pause))
                self._resume = ui.button(
                    _RESUME.to(language), icon="play_arrow", on_click=lambda: self._do(pairs.resume)
                )
                self._cancel = ui.button(_CANCEL.to(language), icon="close", on_click=self._do_cancel)
                self._show = ui.button(_SHOW.to(language), icon="list", on_click=self._do_show)
                buttons = {"pause": self._pause, "resume": self._resume, "cancel": self._cancel, "show": self._show}
                for mark, button in buttons.items():
                    button.props("flat no-caps dense").mark(mark)

    def put(self, job: QaJob) -> None:
        self._job = job
        who, app = self._jobs.who, self._jobs.site.app
        language = who.language
        self._name.set_text(job_name(job, who))
        self._when.put(job.made_at)
        self._status.set_text(app.pairs.status(job).to(language))
        self._bar.set_value(job.finished / job.total if job.total else 1.0)
        cost = job.cost
        self._so_far.set_text(
            _SO_FAR.to(
                language,
                finished=f"{job.finished:,}",
                total=f"{job.total:,}",
                pairs=f"{sum(job.pairs.values()):,}",
                pending=f"{job.pairs.get('pending', 0):,}",
                calls=f"{cost.calls:,}",
                tokens=f"{cost.input_tokens + cost.output_tokens + cost.thought_tokens:,}",
                model=job.model,
            )
        )
        left = [said.to(language, n=n) for state, said in _LEFT_OUT.items() if (n := job.chunks.get(state))]
        left += [_DROPPED.to(language, n=job.dropped)] if job.dropped else []
        self._left.set_text(" · ".join(left))
        self._left.set_visibility(bool(left))
        again = job.state == "done" and bool(job.chunks.get("failed"))
        self._resume.set_text((_AGAIN if again else _RESUME).to(language))
        self._resume.set_visibility(app.pairs.needs is None and (job.state == "paused" or again))
        self._pause.set_visibility(job.state == "running")
        self._cancel.set_visibility(job.state in _OPEN)
        self._show.set_visibility(bool(job.pairs))

    async def _do(self, act: Callable[[str, Reviewer], Awaitable[object]]) -> None:
        with saying(self._jobs.who.language):
            await act(self._id, await self._standing())
            await self._jobs.changed()

    async def _do_cancel(self) -> None:
        language = self._jobs.who.language
        with self._jobs.ground:
            if await confirmed(_SURE.to(language), _CANCEL.to(language), language):
                await self._do(self._jobs.site.app.pairs.cancel)

    async def _do_show(self) -> None:
        with saying(self._jobs.who.language):
            await self._jobs.show(self._id)

    @property
    def _id(self) -> str:
        assert self._job is not None  # `put` comes first
        return self._job.id

    async def _standing(self) -> Reviewer:
        """In the first of their rooms from where it is seen. Raises LookupError."""
        for one in standings(self._jobs.who):
            if await self._jobs.site.app.pairs.job(self._id, one.readers) is not None:
                return one
        raise LookupError(self._id)
