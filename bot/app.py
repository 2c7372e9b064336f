"""Settings → one running application: the only place where things are built."""

import asyncio
import gc
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import get_args

from adapters.port import Adapter, Webhook
from agent.extractive.model import ExtractiveModel
from bot.access import readers
from bot.bot import Bot, make_bot
from bot.config.home import UNWRITABLE, probe, tighten
from bot.config.models import Models, make_embedder, make_reranker, min_relevance
from bot.config.settings import Settings, Strategy, make_home
from bot.database import Database, database
from bot.errors import SettingsError, StoreError
from bot.knowledge.content_store import content_store
from bot.knowledge.curation import Curation
from bot.knowledge.dataset_uploads import DatasetUploads
from bot.knowledge.datasets import Datasets
from bot.knowledge.documents import KnowledgeBase, Progress
from bot.knowledge.held_files import held_files
from bot.knowledge.snapshots import INDEX_LOST, Snapshots
from bot.knowledge.upkeep import Upkeep, attending
from bot.knowledge.vector_store import open_vectors
from bot.logs import ChatLog, Redactor
from bot.operations.copies import sweep
from bot.operations.metrics import Metrics, metrics
from bot.operations.retention import daily, follow_erasures
from bot.programs.programs import Programs
from bot.qa_pairs.listing import AllPairs
from bot.qa_pairs.pairs import Pairs
from bot.records import Period
from bot.sources.card import troubles
from bot.sources.sources import NewSource, Sources
from bot.store.asks import Asks
from bot.store.audit import Audit
from bot.store.changed_documents import ChangedDocuments
from bot.store.channel_settings import ChannelSettings
from bot.store.digests import Digests
from bot.store.documents import Documents
from bot.store.engine import on_server
from bot.store.followed import FollowedSources
from bot.store.held_files import HeldRows
from bot.store.leases import inherit
from bot.store.metrics import MetricsStore
from bot.store.notifications import Notices
from bot.store.outbox import Outbox
from bot.store.processes import this_process
from bot.store.tokens import ProgramTokens
from bot.store.traces import Traces
from bot.store.turns import TurnStore
from bot.store.usage import Usage
from bot.store.vector_stores import VectorStores
from bot.turns.admission import Admission
from bot.turns.answerers import Answerers
from bot.turns.budget import Budget, BudgetLimits
from bot.turns.living import LivingAnswers
from bot.turns.queue import TurnQueue
from bot.turns.selected_passages import AnswerFrom
from bot.turns.trace import Trace, trace
from bot.turns.turns import Turns
from bot.types import Actor, Audience, Card, Place
from bot.unanswered.asking import Asking
from bot.unanswered.clustering import Clustering
from bot.unanswered.corrections import ExpertAnswers
from bot.unanswered.digest import Digest, make_digest
from bot.unanswered.digest_card import card
from bot.unanswered.digest_schedule import Announce, DigestClock, Schedule
from bot.unanswered.doubts import Doubts
from bot.unanswered.questions import Remembering, Unanswered
from bot.waiting import again_and_again
from retrieval import disk
from retrieval.disk import Free
from retrieval.embeddings.base import EmbeddingClient
from retrieval.embeddings.local import LocalEmbedder
from retrieval.embeddings.similarity import SentenceSimilarity
from retrieval.folder import hand_over, own
from retrieval.i18n import Language, Text, filled, os_reason
from retrieval.index import Index
from retrieval.ingest import Ingest
from retrieval.loaders.loader import Loader
from retrieval.reranking import FastembedReranker
from retrieval.search import Search
from retrieval.sparse import SparseEncoder
from retrieval.types import (
    EmbeddingError,
    QdrantConnectionError,
    Readers,
)

log = logging.getLogger(__name__)

_HOME = Actor("terminal", "", "terminal", "editor")  # whoever has the home may change all that is in it
SAMPLE = "sample"
LOOK_EVERY = 60.0  # seconds, in which what the disk or the memory refused may have come right

_NO_STRATEGY = Text(
    en="There is no strategy “{name}”. Use react or synthesis.",
    ja="「{name}」という戦略はありません。react か synthesis にしてください。",
)
_SAMPLE = Text(
    en="Sample handbook of an imaginary company: working hours, leave, expenses, equipment, security, releases.",
    ja="架空の会社のサンプル資料です。勤務時間、休暇、経費、機材、セキュリティ、リリースについて書かれています。",
)


# -- the whole application ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Trouble:
    """A part that does not work, in words. `answers`: questions are answered all the same."""

    what: Text
    answers: bool = False


@dataclass(frozen=True, slots=True)
class Application:
    """Everything one process needs to answer; the only owner of its home's vector store."""

    settings: Settings
    data: Database
    index: Index
    embedder: EmbeddingClient
    knowledge: KnowledgeBase
    models: Models
    bot: Bot
    owner: str  # this process among those of its database
    doubts: Doubts
    unanswered: Unanswered
    answers: ExpertAnswers
    datasets: Datasets
    pairs: Pairs
    all_pairs: AllPairs
    curating: Curation
    sources: Sources
    living: LivingAnswers
    programs: Programs
    answer_from: AnswerFrom
    reranker: FastembedReranker | None = None
    free: Free = disk.free

    @property
    def readers(self) -> Readers:
        return self.data.readers

    async def check(
        self,
        model: str | None,
        strategy: str | None,
        collections: tuple[str, ...] | None,
        language: Language | None = None,
    ) -> None:
        """Refuse what was chosen for a question before it is asked. Raises SettingsError, CollectionNotFoundError."""
        if model is not None:
            self.models(model)
        if strategy is not None and strategy not in get_args(Strategy):
            raise SettingsError(filled(_NO_STRATEGY, name=strategy))
        await self.knowledge.check(collections, self.readers, language or self.settings.language)

    async def troubles(self) -> dict[str, Trouble]:
        """The parts that do not work now: `database`, `store`, `home`, `embedder`."""
        store = await self.index.trouble()
        found = {} if store is None else {"store": Trouble(store)}
        if isinstance(self.embedder, LocalEmbedder) and self.embedder.trouble is not None:
            found["embedder"] = Trouble(self.embedder.trouble.said, answers=True)
        try:
            await self.data.probe()
            if await self.knowledge.emptied():
                found["store"] = Trouble(INDEX_LOST)
        except StoreError as error:
            found["database"] = Trouble(error.said)
        except QdrantConnectionError as error:
            found["store"] = Trouble(error.said)
        home = await asyncio.to_thread(self._home_trouble)
        return found | ({"home": home} if home else {})

    def _home_trouble(self) -> Trouble | None:
        try:
            probe(self.settings.home)
            if self.settings.qdrant_url is None:
                disk.require(disk.ROOM_TO_ADD, self.settings.home, self.free)
        except OSError as error:
            return Trouble(filled(UNWRITABLE, why=os_reason(error)))
        except QdrantConnectionError as error:
            return Trouble(error.said, answers=True)
        return None

    @property
    def schedule(self) -> Schedule:
        return Schedule(self.settings.digest_cron, self.settings.timezone)

    async def digest(self, readers: Readers, period: Period | None = None) -> Digest:
        """The misses of a period, as far as these readers may see them; None: since the last digest that was sent, or
        since one would have been."""
        return await _digest(self.schedule, self.data, self.doubts, self.knowledge, readers, period)

    async def trace(self, turn: str, readers: Readers) -> Trace | None:
        """How an answer came about, as far as these readers may see it: see `bot.turns.trace.trace`. Raises
        StoreError."""
        return await _trace(self.data, self.knowledge, turn, readers)

    async def metrics(self, period: int, readers: Readers) -> Metrics:
        """The figures of the last days, as far as these readers may see them: see `bot.operations.metrics.metrics`."""
        return await metrics(
            period,
            readers,
            figures=MetricsStore(self.data.engine),
            usage=Usage(self.data.engine),
            collections=self.data.collections,
            timezone=self.settings.timezone,
            now=datetime.now(UTC),
        )

    def clock(self, announce: Announce, ready: Callable[[], bool] = lambda: True) -> DigestClock:
        """Has the digest announced when it is due, by a process that is `ready` to."""
        return DigestClock(Digests(self.data.engine), self.schedule, announce, owner=self.owner, ready=ready)

    async def digest_card(self, period: Period, place: Place, audience: Audience) -> Card:
        """The digest for everyone who reads a place."""
        made = await self.digest(readers(place, audience), period)
        return card(made, self.settings.language, self.settings.timezone)

    async def warm(self) -> None:
        """Load what the first question would wait for; what fails is in the log and said where it is missed."""
        await self._have_embedder(LocalEmbedder.warm)
        if self.reranker is not None:
            await self.reranker.warm()

    async def watch_embedder(self) -> None:
        """Look whether the embedder can be loaded, and every minute load it if it could not be, until cancelled."""

        def have(embedder: LocalEmbedder) -> Awaitable[None]:
            return embedder.prepare() if embedder.trouble is None else embedder.warm()

        look = partial(self._have_embedder, have)
        await again_and_again(look, LOOK_EVERY, "the search model could not be loaded")

    async def _have_embedder(self, have: Callable[[LocalEmbedder], Awaitable[None]]) -> None:
        if not isinstance(self.embedder, LocalEmbedder):
            return
        known = self.embedder.trouble
        try:
            await have(self.embedder)
        except EmbeddingError as error:
            if known is None:
                log.warning("search goes by words alone, and no document is added: %s", error, exc_info=True)

    @asynccontextmanager
    async def looked_after(self) -> AsyncIterator[None]:
        """The work of a bot that runs for long beside answering: it deletes what is too old, compares what it was not
        sure of, syncs sources, checks answers whose pages have changed, writes Q/A pairs, and goes on with datasets
        that were left.

        What has been loaded by now stays, so garbage collections leave it out: each full one stalls the loop 0.1 s.
        """
        gc.collect()
        gc.freeze()
        retaining = daily(
            self.data.engine,
            self.settings.chat_log,
            keep=timedelta(days=self.settings.keep_days),
            forget_document=self.knowledge.forget,
            expire_files=held_files(self.data.engine, self.settings.uploads).expire,
        )
        erasing = follow_erasures(self.data.engine, self.settings.chat_log) if on_server(self.data.engine) else None
        tasks = (
            asyncio.create_task(retaining, name="retention"),
            asyncio.create_task(self.data.signals.hear(), name="signals"),
            asyncio.create_task(self.doubts.watch(), name="doubts"),
            asyncio.create_task(self.sources.watch(), name="sources"),
            asyncio.create_task(self.datasets.watch(), name="datasets"),
            *([asyncio.create_task(self.living.watch(), name="living")] if self.settings.living == "on" else []),
            *([asyncio.create_task(erasing, name="erasures")] if erasing else []),
        )
        try:
            async with self.pairs.working():
                yield
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def wants_sample(self) -> bool:
        """Whether this is a home that nobody has used yet, or one whose sample is not whole."""
        if self.settings.platforms or (await self.data.conversations.totals()).turns:
            return False
        documents = await self.data.documents.listed()
        untouched = await self.knowledge.generation() == len(documents)
        untouched &= all(row.collection == SAMPLE for row in documents)
        return untouched and len(documents) < len(_sample_pages())

    async def add_sample(self, progress: Progress | None = None) -> None:
        """Copy the sample handbook into the home and follow it there, so that a page can be edited and its answers seen
        to change; again: nothing happens. `progress(done, total)` counts pages."""
        await self.knowledge.stored.describe(SAMPLE, _SAMPLE.to(self.settings.language))
        for page in _sample_pages():
            copy = self.sample_folder / page.parent.name / page.name
            if not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                copy.write_bytes(page.read_bytes())
        if all(one.source.name != SAMPLE for one in await self.sources.listed(self.readers)):
            await self.sources.add(_HOME, NewSource("folder", str(self.sample_folder), name=SAMPLE, dated=False))
        await self.sources.sync(_HOME, SAMPLE, self.readers, progress)

    @property
    def sample_folder(self) -> Path:
        return self.settings.home / "sample"


@asynccontextmanager
async def running(
    settings: Settings,
    redactor: Redactor,
    rebuild: Callable[[int, int], None] | None = None,
    *,
    lock: int | None = None,
    renew: Callable[[Text], None] | None = None,
    aside: Callable[[Path], None] | None = None,
    tidy: bool = True,
) -> AsyncIterator[Application]:
    """The application, from an open database to a searchable index; everything is closed in the reverse order.

    `lock`: of the home (`retrieval.folder.own`), where the caller has it already; it is closed with the rest. With
    `rebuild` an index that does not fit is made anew first, with `renew` one of another version of Kotae, with `aside`
    what does not belong to the home is moved away, as `bot.knowledge.vector_store` says. Not `tidy`: what a crash left
    behind stays, and nothing but looking is safe; whoever changes documents needs it put right. Raises SettingsError,
    StoreError, QdrantConnectionError (another process owns this home), EmbeddingError, and what
    `bot.knowledge.vector_store.open_vectors` raises."""
    async with AsyncExitStack() as stack:
        if lock is None:
            make_home(settings.home)
            lock = own(settings.home)
        stack.callback(os.close, lock)
        for path in await asyncio.to_thread(tighten, settings):
            log.warning("other users of this machine can read %s: take their rights away, or move the home", path)
        data = await stack.enter_async_context(database(settings, looks=not tidy))
        embedder = await make_embedder(settings, stack)
        sparse = SparseEncoder()

        def ingest(into: Index) -> Ingest:
            return Ingest(embedder, sparse, into, max_chars=settings.chunk_size)

        process, embedded = this_process(), settings.qdrant_url is None
        if on_server(data.engine):
            before = hand_over(lock, process)
            await stack.enter_async_context(attending(data.engine, process, embedded=embedded, before=before))
        index, row = await open_vectors(
            settings, data, embedder, ingest, rebuild, renew=renew, aside=aside, tidy=tidy, process=process
        )
        stack.push_async_callback(index.close)
        snapshots = Snapshots(index, VectorStores(data.engine, process), row)
        if on_server(data.engine):
            if embedded and tidy:
                await index.unstage()
            await stack.enter_async_context(Upkeep(data.engine, index, snapshots, embedded=embedded).running())
        reranker = make_reranker(settings)
        if reranker is not None:
            stack.callback(reranker.close)
        loader = await stack.enter_async_context(Loader())
        knowledge = KnowledgeBase(
            documents=Documents(data.engine, embedder.name, process=process, living=settings.living == "on"),
            collections=data.collections,
            searches=data.searches,
            index=index,
            ingest=ingest(index),
            search=Search(
                index,
                embedder,
                sparse,
                fusion=settings.fusion,
                limit=settings.search_limit,
                min_relevance=min_relevance(settings),
                reranker=reranker,
            ),
            loader=loader,
            kept=content_store(data.engine, settings.home / "documents"),
            snapshots=snapshots,
        )
        stack.push_async_callback(knowledge.close)
        if tidy:
            await knowledge.stored.recover()
            await asyncio.to_thread(sweep, settings.home)
        extractive = ExtractiveModel(SentenceSimilarity(embedder), tokenise=sparse.terms, floor=settings.min_relevance)
        models = Models(settings, extractive, stack)
        models(settings.model_id)  # a wrong KOTAE_MODEL is said now, not to the first asker
        models(settings.judge_id)
        chat_log = ChatLog(settings.chat_log, redactor)
        stack.callback(chat_log.close)  # after the inbox, whose last turns it still notes
        inbox = TurnQueue(TurnStore(data.engine), owner=process)
        stack.push_async_callback(inbox.close)
        budget = Budget(
            Usage(data.engine),
            BudgetLimits(
                settings.user_per_minute, settings.channel_per_minute, settings.daily_calls, settings.daily_tokens
            ),
            now=lambda: datetime.now(settings.timezone),
        )
        stack.push_async_callback(budget.close)
        answerers = Answerers(settings, knowledge, ChannelSettings(data.engine), budget, models, extractive)
        sources = Sources(
            settings,
            FollowedSources(data.engine),
            knowledge,
            data.documents,
            owner=inbox.owner,
            signals=data.signals,
        )
        knowledge.withheld = data.conversations.withheld = sources.channels.withheld
        turns = Turns(
            inbox,
            data.conversations,
            data.votes,
            make_agent=answerers.make,
            list_collections=answerers.collections,
            chat_log=chat_log,
            admission=Admission(settings.concurrency),
            budget=budget,
            prefer=answerers.prefer,
            attach=answerers.attach,
            last_checked=sources.last_checked,
            readable=data.documents.readable,
            language=settings.language,
        )
        living = LivingAnswers(
            ChangedDocuments(data.engine),
            data.documents.get,
            knowledge.as_cited,
            knowledge.stored.tidy,
            timezone=settings.timezone,
        )
        schedule = Schedule(settings.digest_cron, settings.timezone)
        doubts = Doubts(data.questions, Clustering(Remembering(embedder)))
        answers = ExpertAnswers(
            settings, knowledge, data.questions, Notices(data.engine), data.documents, Audit(data.engine)
        )
        asking = Asking(
            settings,
            Asks(data.engine),
            data.questions,
            data.conversations,
            data.documents,
            search=partial(knowledge.search, measured=False),
            cards=Outbox(data.engine).cards,
        )
        bot = make_bot(
            settings,
            data,
            knowledge,
            turns,
            answers,
            asking,
            sources,
            models=models,
            make_digest=partial(_digest, schedule, data, doubts, knowledge),
            owner=inbox.owner,
        )
        unanswered = Unanswered(
            data.questions,
            doubts.grouping,
            search=partial(knowledge.search, measured=False),
            trace=partial(_trace, data, knowledge),
            timezone=settings.timezone,
        )
        shared = HeldRows(data.engine) if on_server(data.engine) else None
        own_files = DatasetUploads(settings.home / "datasets", shared=shared)
        datasets = Datasets(knowledge, data.engine, own_files, owner=inbox.owner)
        stack.push_async_callback(datasets.close)
        pairs = Pairs(
            settings, data.engine, knowledge, index, embedder, models=models, budget=budget, owner=inbox.owner
        )
        if settings.database is None:  # then it is this home's alone
            await inherit(data.engine, datetime.now(UTC))
        if tidy:
            await datasets.tidy()
            await sources.silence()
        curating = Curation(knowledge, data.searches, Audit(data.engine), settings)
        stack.push_async_callback(curating.close)
        answer_from = AnswerFrom(knowledge, budget, models=models, model=settings.model_id, extractive=extractive)
        yield Application(
            settings,
            data,
            index,
            embedder,
            knowledge,
            models,
            bot,
            inbox.owner,
            doubts=doubts,
            unanswered=unanswered,
            answers=answers,
            datasets=datasets,
            pairs=pairs,
            all_pairs=AllPairs(data.documents, knowledge, curating, pairs),
            curating=curating,
            sources=sources,
            living=living,
            programs=Programs(settings, ProgramTokens(data.engine), turns, knowledge),
            answer_from=answer_from,
            reranker=reranker,
        )


def make_adapters(settings: Settings) -> tuple[list[Adapter], Mapping[str, Webhook]]:
    """The platforms that are set up, none of them connected yet; and by their paths what takes the posts of those that
    come to our address."""
    made: list[Adapter] = []
    webhooks: Mapping[str, Webhook] = {}
    if settings.slack is not None:
        from adapters.slack.adapter import SlackAdapter

        slack = SlackAdapter(settings.slack, language=settings.language)
        webhooks = slack.webhooks
        made.append(slack)
    if settings.discord is not None:
        from adapters.discord.adapter import DiscordAdapter

        made.append(DiscordAdapter(settings.discord, language=settings.language))
    return made, webhooks


# -- parts ----------------------------------------------------------------------------------------------------------


async def _trace(data: Database, knowledge: KnowledgeBase, turn: str, readers: Readers) -> Trace | None:
    kept = Traces(data.engine)
    return await trace(turn, readers, conversations=data.conversations, traces=kept, look_up=knowledge.context)


async def _digest(
    schedule: Schedule,
    data: Database,
    doubts: Doubts,
    knowledge: KnowledgeBase,
    readers: Readers,
    period: Period | None = None,
) -> Digest:
    digests = Digests(data.engine)
    if period is None:
        now = datetime.now(UTC)
        period = schedule.period(now, await digests.last_sent(before=now))
    await doubts.gather(period.until - timedelta(microseconds=1))  # misses of this period, however late it is
    made = await make_digest(
        period,
        readers,
        questions=data.questions,
        digests=digests,
        grouping=doubts.grouping,
        search=partial(knowledge.search, measured=False),
    )
    return replace(made, troubled=troubles(await FollowedSources(data.engine).listed(readers.scopes)))


def _sample_pages() -> list[Path]:
    folder = Path(str(files("bot"))) / "sample"
    return sorted(folder.glob("*/*.md"))
