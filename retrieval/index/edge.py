"""The embedded store: Qdrant's engine in this process.

The engine holds the interpreter lock during every call (measured with 0.9.0: 500 points 150 ms, a flush
50–300 ms). So all calls take one thread, which loses nothing; writes go in slices that let searches in between; and
a write is made durable by an fsync of the engine's log in another thread, not by its flush. Before each write the disk
is looked at: without room the engine would end the process (`retrieval/disk.py`).
"""

import asyncio
import logging
import math
import os
import time
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import qdrant_edge as edge

from retrieval import disk
from retrieval.disk import Free
from retrieval.durable import still
from retrieval.folder import (
    Made,
    build,
    check,
    damaged,
    home_in,
    not_opened,
    occupied,
    other_of,
    own,
    put_back,
    replace_with_other,
    sign,
    sync,
    unusable,
    written_in,
)
from retrieval.i18n import Language, Text
from retrieval.index.base import BROKEN, CLOSED, KEYWORDS, USING, Part, blind, gathered, parts
from retrieval.index.payload import ALIVE, STAGED, changes_of, indexed_of, passage_of, payload_of, shows
from retrieval.memory import give_back, let_go
from retrieval.types import (
    Candidates,
    Indexed,
    Passage,
    Point,
    Probe,
    QdrantConnectionError,
    Scored,
    SparseVector,
    Vector,
    View,
)

log = logging.getLogger(__name__)
T = TypeVar("T")
K = TypeVar("K")

_PAUSE = 0.002  # seconds
_MOMENT = 0.0002  # seconds: a call that took less held nobody up
_SEARCHED_AT_ONCE = 8  # searches: no longer than three take one by one
_WRITTEN_AT_ONCE = 16  # points: about 5 ms in which nothing else runs
_CHANGED_AT_ONCE = 128  # points changed or deleted: about as long
_PAYLOAD = 8_192  # bytes at most that a changed payload takes anew (4.4 KB with 2,048 characters of Japanese)
_LOGGED_AT_MOST = 10_000  # points between flushes: a start after a crash replays them in 2 s
_RARITIES = 10_000  # kept
_GONE_AT_LEAST = 10_000  # points that are gone, and as many as are there, before the others are copied

# Vectors of a byte a dimension are gone over, and half as many again as are wanted compared whole: of the true first 50
# of 94,000 all but two in ten thousand, in two thirds of the time. A store made without them is gone over whole.
_BYTES = edge.TurboQuantQuantizationConfig(bits=edge.TurboQuantBitSize.Bits8)
_COMPARED = edge.SearchParams(quantization=edge.QuantizationSearchParams(rescore=True, oversampling=1.5))


_REPLACED = Text(
    en="The search index in {folder} is gone, or another one is in its place: it was moved, deleted or replaced while "
    "it is open. What is added would be lost when Kotae stops, so nothing is. Put it back, or start Kotae again.",
    ja="{folder} の検索インデックスがないか、別のものに置き換わっています（使用中の移動、削除、置き換え）。"
    "追加しても Kotae の終了とともに失われるため、受け付けていません。元に戻すか、Kotae を起動し直してください。",
)


@dataclass(frozen=True, slots=True)
class _Sight:
    """The conditions under which a view shows a point, without those that make no difference now."""

    scopes: frozenset[str]
    generation: int | None
    collections: tuple[str, ...] | None

    def filter(self, *narrower: edge.FieldCondition) -> edge.Filter:
        """The one place where access, generation and collections become a filter."""
        conditions = [*narrower, edge.FieldCondition("scope", match=edge.MatchAny(sorted(self.scopes)))]
        if self.generation is not None:
            conditions += [_number("born", lte=self.generation), _number("died", gt=self.generation)]
        if self.collections is not None:
            conditions.append(edge.FieldCondition("collection", match=edge.MatchAny([*self.collections])))
        return _filter(*conditions)


@dataclass(slots=True, eq=False)
class _Search:
    """A search that waits for the engine, and what it found."""

    view: View
    probes: Sequence[Probe]
    asked: Mapping[Part | int, Vector | SparseVector]
    limit: int
    found: list[Candidates] = field(default_factory=list)


class EdgeIndex:
    """The embedded store: one folder, one owner, one engine thread. `free` tells the bytes left on the folder's
    disk."""

    def __init__(self, shard: edge.EdgeShard, folder: Path, lock: int, free: Free) -> None:
        self.place = str(folder)
        self.home = home_in(folder / "shard")
        self._shard = shard
        self._folder = folder
        self._store = folder / "shard"
        self._opened = os.open(self._store, os.O_RDONLY)  # a disk may number anew what nobody has open
        self._free = free
        self._log = self._store / "wal"
        self._lock = lock
        self._engine = ThreadPoolExecutor(1, thread_name_prefix="index")
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="index-disk")
        self._writing = asyncio.Lock()
        self._unflushed = 0
        self._unsaved = False
        self._there: frozenset[str] | None = None  # scopes
        self._alive_from: int | None = None  # the generation that shows all points, as each later one does
        self._rarities: dict[tuple[_Sight, int], float] = {}
        self._waiting: deque[_Search] = deque()
        self._asked_for = 0  # calls that wait or run
        self._closing: asyncio.Future[None] | None = None
        self._closed = False

    @classmethod
    async def open(
        cls,
        folder: Path,
        *,
        dimensions: int,
        embedder: str,
        tokenizer: str,
        home: str | None = None,
        free: Free = disk.free,
    ) -> Self:
        """Open the store in `folder`, or make it; `home` is for one that is made.

        Raises QdrantConnectionError when somebody else owns the folder, it is damaged or its disk is full,
        EmbeddingError when it was made with another embedder or tokenizer."""
        made = Made(embedder, dimensions, tokenizer)
        return await asyncio.to_thread(lambda: cls(*_open(folder, made, home, free), free))

    # -- whose it is ------------------------------------------------------------------------------------------------

    async def claim(self, home: str) -> None:
        try:
            await asyncio.to_thread(sign, self._store, home)
        except OSError as error:
            raise unusable(self._folder, error) from error
        self.home = home

    async def after(self, generation: int) -> int:
        born = await self._counted(_filter(_number("born", gt=generation, lt=STAGED)))
        return born + await self._counted(_filter(_number("died", gt=generation, lt=ALIVE)))

    async def strangers(self, generation: int, document_ids: Collection[str]) -> int:
        return await self._counted(_strange(generation, document_ids))

    async def drop_strangers(self, generation: int, document_ids: Collection[str]) -> None:
        async with self._writing:
            await self._delete(_strange(generation, document_ids))
            await self._save()

    # -- writing ----------------------------------------------------------------------------------------------------

    async def put(self, points: Sequence[Point]) -> None:
        async with self._writing:
            for start in range(0, len(points), _WRITTEN_AT_ONCE):
                few = points[start : start + _WRITTEN_AT_ONCE]
                self._unflushed += len(few)
                await self._run(partial(self._upsert, few))
            await self._save()

    async def publish(self, document_id: str, *, at: int) -> int:
        staged = _filter(_is("document_id", document_id), _number("born", gte=STAGED))
        async with self._writing:
            await self._change(_living(document_id, before=at), {"died": at})
            published = await self._change(staged, {"born": at})
            await self._save()
            return published

    async def retire(self, document_id: str, *, died: int) -> None:
        async with self._writing:
            await self._change(_living(document_id, before=died), {"died": died})
            await self._save()

    async def undo(self, document_id: str, *, at: int, revive: bool = True) -> None:
        document = _is("document_id", document_id)
        async with self._writing:
            await self._delete(_filter(document, _number("born", gte=at, lte=at)))
            if revive:
                await self._change(_filter(document, _number("died", gte=at, lte=at)), {"died": ALIVE})
            await self._save()

    async def roll_back(self, generation: int) -> None:
        async with self._writing:
            await self._delete(_filter(_number("born", gt=generation, lt=STAGED)))
            await self._change(_filter(_number("died", gt=generation, lt=ALIVE)), {"died": ALIVE})
            await self._save()

    async def unstage(self, living: Collection[str] = ()) -> None:
        """There is one process: this one, which calls it before it stages anything."""
        async with self._writing:
            await self._delete(_filter(_number("born", gte=STAGED)))
            await self._save()

    async def discard(self, document_id: str) -> None:
        async with self._writing:
            await self._delete(_filter(_is("document_id", document_id)))
            await self._save()

    async def sweep(self, generation: int) -> int:
        async with self._writing:
            swept = await self._delete(_filter(_number("died", lte=generation)))
            await self._save()
            await self._compact()
            return swept

    async def move(self, collection: str, into: str) -> None:
        """One operation of the engine's: no search and no crash sees half of it. By the points' ids: after a flush that
        was cut short its index can be ahead of the payloads, and a filter finds nothing to do again."""
        which = _filter(_is("collection", collection), _number("born", lt=STAGED))

        def whole() -> None:
            every = edge.ScrollRequest(limit=max(1, self._shard.info().points_count), filter=which, with_payload=False)
            if ids := [record.id for record in self._shard.scroll(every)[0]]:
                change = edge.UpdateOperation.set_payload(ids, {"collection": into})
                self._update(change, room=disk.RESERVE + len(ids) * _PAYLOAD)

        async with self._writing:
            await self._run(whole)
            self._unflushed += 1
            await self._save()

    async def copy(self, document_id: str, **about: str | None) -> int:
        changes = changes_of(about) | {"born": STAGED}
        add = partial(self._update, room=disk.ROOM_TO_ADD)
        total = 0
        async with self._writing:
            async for copied in self._copied(
                lambda record: _again(record, changes), add, _living(document_id, before=STAGED)
            ):
                total += copied
                self._unflushed += copied
            await self._save()
        return total

    async def _copied(
        self,
        made: Callable[[edge.Record], edge.Point],
        write: Callable[[edge.UpdateOperation], None],
        which: edge.Filter | None = None,
    ) -> AsyncIterator[int]:
        """Have what is `made` of each point (which: all) written, slice by slice; yields how many points each has."""
        offset: Any = None

        def some() -> tuple[int, Any]:
            request = edge.ScrollRequest(
                limit=_WRITTEN_AT_ONCE, offset=offset, filter=which, with_payload=True, with_vector=True
            )
            records, then = self._shard.scroll(request)
            if records:
                write(edge.UpdateOperation.upsert_points([*map(made, records)]))
            return len(records), then

        while True:
            copied, offset = await self._run(some)
            yield copied
            if offset is None:
                return

    async def _compact(self) -> None:
        """Have a copy of the points that are there in the store's place, once it is more of points that are gone: the
        engine keeps what those take (6 MB of memory and 5 of the disk for a thousand), except in what its `optimize`
        makes, which is searched approximately. Searches go on meanwhile."""
        there = await self._run(lambda: self._shard.info().points_count)
        gone = await self._on(self._disk, partial(_ever, self._store)) - there
        if gone < max(_GONE_AT_LEAST, there):
            return
        log.info("the store has %d points that are gone; the other %d are copied", gone, there)
        try:
            other = await self._on(self._disk, self._beside)
            try:
                async for _ in self._copied(_same, other.update):
                    pass
                await self._run(other.flush)
            finally:
                await self._run(other.close)
            await self._run(self._take_other)
        except QdrantConnectionError:
            log.warning("the store keeps %d points that are gone", gone, exc_info=True)
            await self._run(partial(put_back, self._store))

    def _beside(self) -> edge.EdgeShard:
        """An empty store of the same kind beside this one. Raises QdrantConnectionError."""
        put_back(self._store)  # what is left of a copy that was given up
        disk.require(disk.RESERVE + occupied(self._store), self._folder, self._free)
        made = written_in(self._store)
        if made is None:
            raise damaged(self._folder)
        build(other_of(self._store), made, lambda path: _create(path, made.dimensions), self.home)
        return edge.EdgeShard.load(str(other_of(self._store)))

    def _take_other(self) -> None:
        self._flush()
        self._shard.close()
        try:
            replace_with_other(self._store)
        finally:
            put_back(self._store)
            self._shard = edge.EdgeShard.load(str(self._store))
            os.close(self._opened)
            self._opened = os.open(self._store, os.O_RDONLY)
            self._unflushed = 0
            self._forget_remembered()
            give_back()

    async def _change(self, which: edge.Filter, payload: dict[str, Any]) -> int:
        """Set `payload`, which takes points out of `which`, slice by slice; generations hide the steps in between."""
        return await self._slices(which, lambda ids: edge.UpdateOperation.set_payload(ids, payload))

    async def _delete(self, which: edge.Filter) -> int:
        return await self._slices(which, edge.UpdateOperation.delete_points)

    async def _slices(self, which: edge.Filter, operation: Callable[[list[Any]], edge.UpdateOperation]) -> int:
        request = edge.ScrollRequest(limit=_CHANGED_AT_ONCE, filter=which, with_payload=False)

        def one() -> int:
            records, _ = self._shard.scroll(request)
            if records:
                self._update(operation([record.id for record in records]))
            return len(records)

        total = 0
        while changed := await self._run(one):
            total += changed
        self._unflushed += total
        return total

    def _upsert(self, points: Sequence[Point]) -> None:
        self._update(edge.UpdateOperation.upsert_points([*map(_point, points)]), room=disk.ROOM_TO_ADD)

    def _update(self, operation: edge.UpdateOperation, *, room: int = disk.RESERVE) -> None:
        """The one way to the engine's maps: only with `room` bytes on the disk, else QdrantConnectionError."""
        self._require_still()
        disk.require(room, self._folder, self._free)
        self._forget_remembered()
        self._unsaved = True
        self._shard.update(operation)

    def _forget_remembered(self) -> None:
        """Forget what searches remember of the store as it was before a write."""
        self._there = self._alive_from = None
        self._rarities.clear()

    def _require_still(self) -> None:
        """Raises QdrantConnectionError where what is written would be lost: files without a name answer on."""
        if not still(self._store, os.fstat(self._opened)):
            raise QdrantConnectionError(_REPLACED, folder=self._folder)

    def _flush(self) -> None:
        disk.require(disk.RESERVE, self._folder, self._free)
        self._shard.flush()

    async def _save(self) -> None:
        """From here on the writes survive the machine."""
        if not self._unsaved:
            return
        if self._unflushed > _LOGGED_AT_MOST:
            await self._run(self._flush)
            self._unflushed = 0
        else:
            await self._on(self._disk, lambda: sync(self._log))
        self._unsaved = False

    # -- reading ----------------------------------------------------------------------------------------------------

    async def query(self, view: View, *probes: Probe, limit: int = 50) -> list[Candidates]:
        asked = parts(probes)
        if blind(view) or not asked:
            return gathered(probes, {part: () for part in asked if not isinstance(part, int)})
        search = _Search(view, probes, asked, limit)
        self._waiting.append(search)
        try:
            await self._run(self._search)  # as many turns as searches, and each takes several
        finally:
            if search in self._waiting:  # it was given up: its turn is none then
                self._waiting.remove(search)
        return search.found

    def _search(self) -> None:
        """Those that wait, in one batch: the engine passes once over the points for requests that stand side by side
        and differ in their vector only (sixteen cost as much as five)."""
        searches = [self._waiting.popleft() for _ in range(min(len(self._waiting), _SEARCHED_AT_ONCE))]
        sights = [self._sight(search.view) for search in searches]
        requests = {
            (n, part): _nearest(part, at, sight, search.limit)
            for n, (search, sight) in enumerate(zip(searches, sights, strict=True))
            for part, at in search.asked.items()
            if (sight, part) not in self._rarities
        }
        alike = sorted(requests, key=lambda name: _kind(sights[name[0]], name[1]))
        found, failures = self._asked({name: requests[name] for name in alike}) if requests else ({}, {})
        for n, (search, sight) in enumerate(zip(searches, sights, strict=True)):
            search.found = self._candidates(
                search,
                sight,
                {part: found[n, part] for part in search.asked if (n, part) in found},
                {part: failures[n, part] for part in search.asked if (n, part) in failures},
            )

    def _sight(self, view: View) -> _Sight:
        """The view's conditions, as far as they matter. Those on generations cost as much as all else of a filter, and
        hold for every point but while something is being written; and each thread has a scope of its own, in which
        hardly ever something lies: without it the searches of a channel are alike."""
        scopes, generation = view.readers.scopes, view.generation
        with suppress(BaseException):  # panics are no Exceptions; what is not known is asked for
            scopes = scopes & self._scopes() or scopes
            if self._all_alive(generation):
                return _Sight(scopes, None, view.collections)
        return _Sight(scopes, generation, view.collections)

    def _scopes(self) -> frozenset[str]:
        if self._there is None:
            every = edge.FacetRequest("scope", limit=max(1, self._shard.info().points_count))
            self._there = frozenset(str(hit.value) for hit in self._shard.facet(every))
        return self._there

    def _all_alive(self, generation: int) -> bool:
        """Whether all points live at this generation and at every later one."""
        if self._alive_from is None or generation < self._alive_from:
            others = edge.Filter(should=[_number("born", gt=generation), _number("died", lt=ALIVE)])
            if self._shard.scroll(edge.ScrollRequest(limit=1, filter=others, with_payload=False))[0]:
                return False
            self._alive_from = generation
        return True

    def _candidates(
        self,
        search: _Search,
        sight: _Sight,
        found: Mapping[Part | int, Sequence[edge.ScoredPoint]],
        failures: Mapping[Part | int, BaseException],
    ) -> list[Candidates]:
        lists: dict[Part, list[Scored]] = {}
        failed: dict[Part, Exception] = {}
        weights: dict[int, float] = {}
        for part in search.asked:
            if isinstance(part, int):
                weights[part] = self._rarity(part, sight, found.get(part, ()))
            elif part in found:
                lists[part] = [Scored(str(point.id), point.score, part[2]) for point in found[part]]
            else:
                failed[part] = QdrantConnectionError(BROKEN)
                failed[part].__cause__ = failures[part]
        return gathered(search.probes, lists, failed, weights)

    def _asked(
        self, requests: Mapping[K, edge.QueryRequest]
    ) -> tuple[dict[K, list[edge.ScoredPoint]], dict[K, BaseException]]:
        """Each request's list, or its failure: one that fails must not take the others with it."""
        try:
            batch = self._shard.query_batch(edge.QueryBatchRequest([*requests.values()]))
            return dict(zip(requests, batch, strict=True)), {}
        except BaseException:  # one of them is enough
            lists: dict[K, list[edge.ScoredPoint]] = {}
            failed: dict[K, BaseException] = {}
            for name, request in requests.items():
                try:
                    lists[name] = self._shard.query(request)
                except BaseException as error:
                    log.warning("a part of a search failed (%s): %s", name, error)
                    failed[name] = error
            return lists, failed

    def _rarity(self, term: int, sight: _Sight, found: Sequence[edge.ScoredPoint]) -> float:
        """The term's idf, remembered until something is written; `found`: the best passage for it, if it was asked
        for."""
        known = self._rarities.get((sight, term))
        if known is None:
            known = self._idf(term, found)
            if found and len(self._rarities) < _RARITIES:
                self._rarities[sight, term] = known
        return known

    def _idf(self, term: int, found: Sequence[edge.ScoredPoint]) -> float:
        """The engine's weight of the term, counted over all its points.

        A score is idf × the point's weight for the term, and the point's vector holds the weight.
        """
        vectors = found[0].vector if found else None
        words = vectors[USING["words"]] if isinstance(vectors, dict) else None
        if not isinstance(words, edge.SparseVector):
            return math.log(1 + (self._shard.info().points_count + 0.5) / 0.5)
        return found[0].score / words.values[words.indices.index(term)]

    async def sample(self, generation: int, limit: int) -> list[tuple[Language, Vector]]:
        request = edge.ScrollRequest(
            limit=limit,
            filter=_filter(_number("born", lte=generation), _number("died", gt=generation)),
            with_payload=["language"],
            with_vector=[USING["dense"]],
        )

        def read() -> list[tuple[Language, Vector]]:
            found: list[tuple[Language, Vector]] = []
            for record in self._shard.scroll(request)[0]:
                vectors: Any = record.vector
                found.append(((record.payload or {})["language"], vectors[USING["dense"]]))
            return found

        return await self._run(read)

    async def fetch(self, ids: Sequence[str], view: View) -> Mapping[str, Indexed]:
        if not ids or blind(view):
            return {}

        def read() -> dict[str, Indexed]:
            found = {str(record.id): record.payload or {} for record in self._shard.retrieve([*ids], True, False)}
            return {id: indexed_of(payload) for id, payload in found.items() if shows(view, payload)}

        return await self._run(read)

    async def passages(self, document_id: str, numbers: range, view: View) -> list[Passage]:
        if not numbers or blind(view):
            return []
        which = _seen(view, _is("document_id", document_id), _number("chunk", gte=min(numbers), lte=max(numbers)))
        request = edge.ScrollRequest(limit=len(numbers), filter=which, with_payload=True)
        found = await self._run(lambda: [passage_of(record.payload or {}) for record in self._shard.scroll(request)[0]])
        return sorted((passage for passage in found if passage.chunk in numbers), key=lambda passage: passage.chunk)

    async def vectors(self, document_id: str) -> AsyncIterator[tuple[Passage, Vector]]:
        which, offset = _living(document_id, before=STAGED), None
        while True:
            request = edge.ScrollRequest(
                limit=_CHANGED_AT_ONCE, offset=offset, filter=which, with_payload=True, with_vector=[USING["dense"]]
            )
            records, offset = await self._run(partial(self._shard.scroll, request))
            for record in records:
                vectors: Any = record.vector
                yield passage_of(record.payload or {}), vectors[USING["dense"]]
            if offset is None:
                return

    async def scroll(
        self, view: View, *, offset: str | None = None, limit: int = 50
    ) -> tuple[list[Passage], str | None]:
        if blind(view):
            return [], None
        request = edge.ScrollRequest(offset=offset, limit=limit, filter=_seen(view), with_payload=True)

        def ask() -> tuple[list[Passage], str | None]:
            records, then = self._shard.scroll(request)
            return [passage_of(record.payload or {}) for record in records], None if then is None else str(then)

        return await self._run(ask)

    async def count(self, view: View) -> int:
        if blind(view):
            return 0
        return await self._counted(_seen(view))

    async def _counted(self, which: edge.Filter) -> int:
        request = edge.CountRequest(exact=True, filter=which)
        return await self._run(lambda: self._shard.count(request))

    async def trouble(self) -> Text | None:
        one = edge.ScrollRequest(limit=1, with_payload=True)
        try:
            await self._run(lambda: self._shard.scroll(one))
            await self._run(self._require_still)
        except QdrantConnectionError as error:
            return error.said
        return None

    # -- the engine's thread ----------------------------------------------------------------------------------------

    async def _run(self, work: Callable[[], T]) -> T:
        self._asked_for += 1
        try:
            return await self._on(self._engine, partial(self._politely, work))
        finally:
            self._asked_for -= 1

    def _politely(self, work: Callable[[], T]) -> T:
        """A moment without the interpreter lock before the next job: the event loop has to take the lock again after
        each of its system calls, and would wait for a whole call of the engine's every time (200 searches at once: the
        longest stall is 0.2 s instead of 0.4)."""
        began = time.perf_counter()
        try:
            return work()
        finally:
            if self._asked_for > 1 and time.perf_counter() - began > _MOMENT:
                time.sleep(_PAUSE)

    async def _on(self, pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        if self._closed:
            raise QdrantConnectionError(CLOSED)

        def guarded() -> T:
            try:
                return work()
            except QdrantConnectionError:
                raise
            except BaseException as error:  # plain Exceptions, and panics that are none
                raise QdrantConnectionError(BROKEN) from error

        return await asyncio.get_running_loop().run_in_executor(pool, guarded)

    async def close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._shut())
        await asyncio.shield(self._closing)

    async def _shut(self) -> None:
        async with self._writing:
            self._closed = True
            await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._engine.shutdown(wait=True)
        self._disk.shutdown(wait=True)
        try:
            if self._unflushed:
                with suppress(BaseException):  # panics are no Exceptions; what was written is in the log
                    self._flush()
            self._shard.close()
        finally:
            os.close(self._opened)
            os.close(self._lock)


# -- opening --------------------------------------------------------------------------------------------------------


def _open(folder: Path, made: Made, home: str | None, free: Free) -> tuple[edge.EdgeShard, Path, int]:
    lock = own(folder)
    try:
        disk.require(disk.RESERVE, folder, free)
        shard = folder / "shard"
        put_back(shard)
        if not shard.exists():
            build(shard, made, lambda path: _create(path, made.dimensions), home)
        check(shard, made)
        try:
            loaded = edge.EdgeShard.load(str(shard))
            _index(loaded)
        except BaseException as error:  # a panic is no Exception
            raise not_opened(folder, error) from error
        give_back()
        let_go(folder)
        return loaded, folder, lock
    except BaseException:
        os.close(lock)
        raise


def _create(path: Path, dimensions: int) -> None:
    # Memory options change nothing here: they are for what `optimize` makes.
    shard = edge.EdgeShard.create(
        str(path),
        edge.EdgeConfig(
            vectors={
                USING["dense"]: edge.EdgeVectorParams(
                    size=dimensions,
                    distance=edge.Distance.Cosine,
                    # Half the memory to go over in a search; cosines change by less than a thousandth.
                    datatype=edge.VectorStorageDatatype.Float16,
                    quantization_config=_BYTES,
                )
            },
            sparse_vectors={
                USING[branch]: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf) for branch in ("words", "ngrams")
            },
        ),
    )
    _index(shard)
    shard.close()


def _ever(folder: Path) -> int:
    """The points that a store has a place for, which the engine tells by a file alone (0.9.0: 8 bytes for each)."""
    return sum(file.stat().st_size for file in folder.glob("segments/*/mutable_id_tracker.versions")) // 8


def _index(shard: edge.EdgeShard) -> None:
    """Index what filters ask for and is not indexed yet: all of a new store, in an old one what a version added."""
    there = shard.info().payload_schema
    for name in KEYWORDS:
        if name not in there:
            shard.update(edge.UpdateOperation.create_field_index(name, edge.KeywordIndexParams()))
    for name in ("born", "died"):
        if name not in there:
            ranged = edge.IntegerIndexParams(lookup=False, range=True)
            shard.update(edge.UpdateOperation.create_field_index(name, ranged))


# -- our values and the engine's ------------------------------------------------------------------------------------


def _point(point: Point) -> edge.Point:
    vectors: dict[str, edge.NamedVector] = {USING["dense"]: [*point.dense]}
    if point.words.indices:
        vectors[USING["words"]] = _sparse(point.words)
    if point.ngrams.indices:
        vectors[USING["ngrams"]] = _sparse(point.ngrams)
    return edge.Point(point.id, vectors, payload_of(point))


def _same(record: edge.Record) -> edge.Point:
    return edge.Point(record.id, record.vector or {}, record.payload or {})


def _again(record: edge.Record, changes: dict[str, Any]) -> edge.Point:
    """The record as a new point, with `changes` in its payload."""
    return edge.Point(str(uuid.uuid4()), record.vector or {}, (record.payload or {}) | changes)


def _nearest(part: Part | int, vector: Vector | SparseVector, sight: _Sight, limit: int) -> edge.QueryRequest:
    """The request for one part of a batch; for a term the point that shows its rarity, with its weights."""
    branch, language = ("words", None) if isinstance(part, int) else part[1:]
    at = _sparse(vector) if isinstance(vector, SparseVector) else [*vector]
    return edge.QueryRequest(
        limit=1 if isinstance(part, int) else limit,
        query=edge.Query.Nearest(at, using=USING[branch]),
        filter=sight.filter(*([_is("language", language)] if language else [])),
        with_vector=[USING["words"]] if isinstance(part, int) else False,
        with_payload=False,
        params=_COMPARED,
    )


def _kind(sight: _Sight, part: Part | int) -> tuple[int, str, str]:
    """Equal for requests that differ in their vector only; a collision would cost time, nothing else."""
    return (hash(sight), "", "") if isinstance(part, int) else (hash(sight), part[1], part[2] or "")


def _sparse(vector: SparseVector) -> edge.SparseVector:
    return edge.SparseVector([*vector.indices], [*vector.values])


def _seen(view: View, *narrower: edge.FieldCondition) -> edge.Filter:
    return _Sight(view.readers.scopes, view.generation, view.collections).filter(*narrower)


def _living(document_id: str, *, before: int) -> edge.Filter:
    return _filter(_is("document_id", document_id), _number("born", lt=before), _number("died", gte=ALIVE))


def _strange(generation: int, document_ids: Collection[str]) -> edge.Filter:
    known = [edge.FieldCondition("document_id", match=edge.MatchAny(sorted(document_ids)))] if document_ids else []
    return edge.Filter(must=[_number("born", lte=generation), _number("died", gt=generation)], must_not=[*known])


def _filter(*conditions: edge.FieldCondition) -> edge.Filter:
    return edge.Filter(must=[*conditions])


def _is(field: str, value: str) -> edge.FieldCondition:
    return edge.FieldCondition(field, match=edge.MatchValue(value))


def _number(field: str, **bounds: float) -> edge.FieldCondition:
    return edge.FieldCondition(field, range=edge.RangeFloat(**bounds))
