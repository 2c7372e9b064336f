"""Datasets that are being added, on their page: how far each is, what was left out and why, cancelled, gone on with."""

from urllib.parse import quote

from nicegui import ui

from adapters.shared.verdicts import verdict_line
from adapters.web.pages.shared import components
from adapters.web.pages.shared.components import LiveCards
from adapters.web.pages.shared.curators import person, readers_of
from adapters.web.pages.shared.dialogs import confirmed
from adapters.web.pages.shared.layout import saying
from adapters.web.visitor import Site, Visitor
from bot.knowledge.datasets import DatasetJob, Outcome, State, Upstream
from retrieval.datasets import NAMED, Dropped, Ended
from retrieval.i18n import Language, Text
from retrieval.loaders.limits import size

_TITLE = Text(en="Jobs", ja="ジョブ")
_NONE = Text(
    en="Nothing has been added here yet. Choose a dataset above.",
    ja="ここから追加したデータセットはまだありません。上からデータセットを選択してください。",
)
_STATES: dict[State, Text] = {
    "running": Text(en="Adding…", ja="追加中です…"),
    "done": Text(en="Done.", ja="完了しました。"),
    "cancelled": Text(en="Stopped. What was added stays.", ja="中止しました。追加済みの文書は残っています。"),
    "failed": Text(en="Interrupted. What was added stays.", ja="中断しました。追加済みの文書は残っています。"),
}
_ENDED: dict[Ended, Text] = {
    "all": Text(en="All rows were read.", ja="すべての行を読み込みました。"),
    "documents": Text(en="The document limit was reached.", ja="文書数の上限に達しました。"),
    "characters": Text(en="The character limit was reached.", ja="文字数の上限に達しました。"),
    "bytes": Text(en="The download limit of one job was reached.", ja="1 回のジョブで取得できる量の上限に達しました。"),
    "rows": Text(en="The row limit of one job was reached.", ja="1 回のジョブで読み込める行数の上限に達しました。"),
}
OUTCOMES: dict[Outcome, Text] = {
    "added": Text(en="added {n}", ja="追加 {n} 件"),
    "replaced": Text(en="replaced {n}", ja="更新 {n} 件"),
    "unchanged": Text(en="unchanged {n}", ja="変更なし {n} 件"),
    "refused": Text(en="refused {n}", ja="追加不可 {n} 件"),
}
DROPPED: dict[Dropped, Text] = {
    "empty": Text(en="without text", ja="本文なし"),
    "short": Text(en="too short", ja="短すぎる"),
    "long": Text(en="too long", ja="長すぎる"),
    "duplicate": Text(en="duplicate text", ja="本文が重複"),
    "encoding": Text(en="broken characters", ja="文字化け"),
}
_LEFT_OUT = Text(en="left out: {what}", ja="除外: {what}")
_READ = Text(
    en="{rows} row{rows:|s} read, {characters} characters added, {bytes} fetched",
    ja="読み込んだ行数 {rows}、追加した文字数 {characters}、取得量 {bytes}",
)
_OF = Text(en="{n} of at most {most} documents", ja="文書 {n} 件（上限 {most} 件）")
_FOR = Text(en="into {collection} · who may find it: {readers}", ja="コレクション {collection} · 公開範囲: {readers}")
_PROGRESS = Text(en="Progress", ja="進み具合")
_REFUSED = Text(en="What was refused, and why", ja="追加できなかったものと理由")
_CANCEL = Text(en="Stop adding", ja="中止")
_SURE = Text(
    en="Stop adding? What was added stays, and you can continue later.",
    ja="追加を中止しますか？追加済みの文書は残り、あとから続きを追加できます。",
)
_RESUME = Text(en="Continue", ja="続きを追加")
_SHOW = Text(en="Show the documents", ja="文書を表示")


class DatasetJobs:
    def __init__(self, site: Site, who: Visitor) -> None:
        self.site = site
        self.who = who
        self._scopes = frozenset(site.app.curating.scopes(person(who)))

    async def build(self) -> None:
        language = self.who.language
        components.heading(_TITLE.to(language))
        self.ground = ui.element("div")  # of dialogs, which outlive the cards they were opened from
        self._none = ui.label(_NONE.to(language)).classes("kotae-empty")
        self._cards = LiveCards(ui.column().classes("full-width"), lambda: _Card(self))
        await self.refresh()

    async def refresh(self) -> None:
        """Show them as they are now: those that add what this visitor may read."""
        known = await self.site.app.datasets.jobs()
        jobs = [job for job in known if job.order.scope in self.who.readers.scopes]
        self._none.set_visibility(not jobs)
        self._cards.show({job.id: job for job in jobs})

    def may_change(self, job: DatasetJob) -> bool:
        """Whoever may add for these readers."""
        return job.order.scope in self._scopes


class _Card:
    def __init__(self, jobs: DatasetJobs) -> None:
        self._jobs = jobs
        self._job: DatasetJob | None = None
        language = jobs.who.language
        with ui.column().classes("kotae-card") as self.root:
            with ui.row().classes("items-baseline"):
                self._name = ui.label().classes("text-weight-bold kotae-pre")
                self._when = components.When(jobs.who).classes("kotae-quiet")
            self._for = ui.label().classes("kotae-quiet kotae-pre")
            self._status = ui.label()
            self._problem = ui.label().classes("kotae-bad kotae-pre").props('role="alert"')
            self._bar = ui.linear_progress(0, show_value=False, size="8px")
            self._bar.props(f'rounded aria-label="{_PROGRESS.to(language)}"')
            self._counts = ui.label()
            self._left = ui.label().classes("kotae-warn")
            self._read = ui.label().classes("kotae-quiet")
            with ui.expansion(_REFUSED.to(language)).classes("kotae-source") as self._refused:
                self._refusals = ui.label().classes("kotae-pre")
            with ui.row().classes("items-center"):
                self._cancel = ui.button(_CANCEL.to(language), icon="close", on_click=self._do_cancel)
                self._resume = ui.button(_RESUME.to(language), icon="play_arrow", on_click=self._do_resume)
                for mark, button in (("cancel", self._cancel), ("resume", self._resume)):
                    button.props("flat no-caps dense").mark(mark)
                self._show = ui.link(_SHOW.to(language), "/documents")

    @property
    def _now(self) -> DatasetJob:
        assert self._job is not None  # `put` comes first
        return self._job

    def put(self, job: DatasetJob) -> None:
        if job == self._job:
            return
        self._job = job
        who, language = self._jobs.who, self._jobs.who.language
        order = job.order
        self._name.set_text(source_name(job, language))
        self._when.put(job.started)
        self._for.set_text(_FOR.to(language, collection=order.collection, readers=readers_of(order.scope, who)))
        self._status.set_text(
            " ".join([_STATES[job.state].to(language)] + ([_ENDED[job.ended].to(language)] if job.ended else []))
        )
        self._problem.set_text(job.problem)
        self._bar.set_value(job.share)
        shown = [_OF.to(language, n=f"{job.documents:,}", most=f"{order.limits.documents:,}")]
        shown += [said.to(language, n=f"{n:,}") for what, said in OUTCOMES.items() if (n := job.counts.get(what))]
        self._counts.set_text(" · ".join(shown))
        left = [f"{said.to(language)} {n:,}" for why, said in DROPPED.items() if (n := job.counts.get(why))]
        self._left.set_text(_LEFT_OUT.to(language, what=" · ".join(left)))
        self._read.set_text(
            _READ.to(language, rows=f"{job.rows:,}", characters=f"{job.characters:,}", bytes=size(job.fetched))
        )
        self._refusals.set_text("\n".join(verdict_line(verdict, language) for verdict in job.refusals))
        self._show.props["href"] = f"/documents?collection={quote(order.collection, safe='')}"
        theirs = self._jobs.may_change(job)
        for element, there in (
            (self._problem, bool(job.problem)),
            (self._left, bool(left)),
            (self._refused, bool(job.refusals)),
            (self._cancel, theirs and job.state == "running"),
            (self._resume, theirs and job.state in ("cancelled", "failed")),
            (self._show, bool(job.documents)),
        ):
            element.set_visibility(there)

    async def _do_cancel(self) -> None:
        language, job = self._jobs.who.language, self._now.id
        with self._jobs.ground, saying(language):
            if await confirmed(_SURE.to(language), _CANCEL.to(language), language):
                await self._jobs.site.app.datasets.cancel(job)
                await self._jobs.refresh()

    async def _do_resume(self) -> None:
        with saying(self._jobs.who.language):
            await self._jobs.site.app.datasets.resume(self._now.id)
            await self._jobs.refresh()


def source_name(job: DatasetJob, language: Language) -> str:
    """The name by which people call a source."""
    named = NAMED.get(job.name) if isinstance(job.order.choice, Upstream) else None
    return named.title.to(language) if named is not None else job.name
