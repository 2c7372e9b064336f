"""Passages on a Qdrant server or cluster, through qdrant-client.

What the vectors were made with is kept in the collection's own metadata (Qdrant 1.16): it is written in the request
that makes the collection, so there is no moment without it; a reserved point would be counted and searched with the
others, and a row of our database does not travel with the collection."""

import asyncio
import logging
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, fields
from hashlib import sha256
from typing import Any, Self

from pydantic import SecretStr
from qdrant_client import models
from qdrant_client.async_client_base import AsyncQdrantBase

from retrieval.folder import Made
from retrieval.i18n import Language, Text
from retrieval.index.base import BROKEN, KEYWORDS, NUMBERS, USING, Part, blind, gathered, parts
from retrieval.index.payload import ALIVE, STAGED, changes_of, indexed_of, passage_of
from retrieval.index.server_calls import Pending, Wire, of_one
from retrieval.index.server_values import (
    again,
    all_of,
    deleting,
    equals,
    living,
    nearest,
    number,
    point_of,
    seen,
    setting,
)
from retrieval.types import (
    Candidates,
    EmbeddingError,
    Indexed,
    Passage,
    Point,
    Probe,
    QdrantConnectionError,
    Scored,
    Vector,
    View,
)

log = logging.getLogger(__name__)

PREFIX = "kotae"
PROCESS = "process"  # the field that says who staged a point
_WRITTEN_AT_ONCE = 64  # points: about 1 MB of JSON with vectors of 1,000 dimensions
_READ_AT_ONCE = 256  # passages
_SIZE_HOLDS = 60.0  # seconds; it only says how rare a word is that no passage has

_NOT_OURS = Text(
    en="The collection “{collection}” at {address} does not say what it was made with. Kotae did not make it, or the"
    " server is older than Qdrant 1.16.",
    ja="{address} のコレクション「{collection}」には、何で作られたかの記録がありません。Kotae が作ったものではないか、"
    "サーバーが Qdrant 1.16 より古いようです。",
)
_MISMATCH = Text(
    en="The collection “{collection}” at {address} was made with {was}, but now {wanted} is set, and the two cannot be"
    " mixed. Set KOTAE_EMBEDDER and KOTAE_EMBEDDING_DIM back, or delete that collection and build it anew with"
    " `kotae reindex`.",
    ja="{address} のコレクション「{collection}」は {was} で作られていますが、現在の設定は {wanted} です。"
    "混在はできません。"
    "KOTAE_EMBEDDER と KOTAE_EMBEDDING_DIM を元に戻すか、このコレクションを削除して `kotae reindex` "
    "で作り直してください。",
)
_OTHERS = Text(
    en="The collection “{collection}” at {address} belongs to another home ({home}), so it is not deleted.",
    ja="{address} のコレクション「{collection}」は別のホーム（{home}）のものなので、削除しません。",
)


def collection_of(made: Made, prefix: str = PREFIX) -> str:
    """The name of the server's collection for vectors of one kind: readable, safe in a path, of no other kind's."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", made.embedder)[:80].strip("-.")
    kind = sha256(f"{made.embedder}\n{made.dimensions}\n{made.tokenizer}".encode()).hexdigest()[:10]
    return f"{prefix}--{readable}--{kind}"


class ServerIndex:
    """One collection of a server. Any number of processes may have it open."""

    def __init__(
        self, wire: Wire, collection: str, *, replicated: bool = False, home: str | None = None, process: str = ""
    ) -> None:
        """`process` names whoever stages points here: several may, of one document at the same time."""
        self.place = f"{collection} ({wire.address or 'memory'})"
        self.home = home
        self._wire = wire
        self._name = collection
        self._process = process
        # With one replica there is nothing to agree on; with more, two of them may show different generations.
        self._consistency = models.ReadConsistencyType.MAJORITY if replicated else None
        self._writing = asyncio.Lock()
        self._size: tuple[float, int] | None = None  # when it was asked, points

    @classmethod
    async def open(
        cls,
        url: str,
        api_key: SecretStr | str | None = None,
        *,
        dimensions: int,
        embedder: str,
        tokenizer: str,
        collection: str | None = None,
        shards: int | None = None,
        replicas: int | None = None,
        write_consistency: int | None = None,
        seconds: float = 10.0,
        home: str | None = None,
        process: str = "",
    ) -> Self:
        """Open the collection of this embedder and tokenizer, or make it; the numbers (None: the server's own) and
        `home` are for one that is made. A try may take `seconds`, a call twice as long.

        Raises QdrantConnectionError, EmbeddingError when the collection was made with something else.
        """
        wire = Wire.to(url, api_key, timeout=seconds)
        made = Made(embedder, dimensions, tokenizer)
        try:
            return await cls.on(
                wire,
                made,
                collection,
                shards=shards,
                replicas=replicas,
                write_consistency=write_consistency,
                home=home,
                process=process,
            )
        except BaseException:
            await wire.close()
            raise

    @classmethod
    async def on(
        cls,
        wire: Wire,
        made: Made,
        collection: str | None = None,
        *,
        shards: int | None = None,
        replicas: int | None = None,
        write_consistency: int | None = None,
        home: str | None = None,
        process: str = "",
    ) -> Self:
        """As `open`, over a client that is there."""
        name = collection or collection_of(made)
        if not await wire(lambda client: client.collection_exists(name)):
            await _create(wire, name, _metadata(made, home), made.dimensions, shards, replicas, write_consistency)
        info = await wire(lambda client: client.get_collection(name))
        _check(info.config.metadata, made, name, wire.address)
        for field in (*KEYWORDS, PROCESS, *NUMBERS):
            if field not in info.payload_schema:  # new, or made by a process that died in between
                await _index(wire, name, field)
        replicated = (info.config.params.replication_factor or 1) > 1
        return cls(wire, name, replicated=replicated, home=_home(info.config.metadata), process=process)

    @classmethod
    async def there(cls, url: str, api_key: SecretStr | str | None, collection: str, *, seconds: float = 10.0) -> bool:
        """Whether there is a collection of this name. Raises QdrantConnectionError."""
        wire = Wire.to(url, api_key, timeout=seconds)
        try:
            return await wire(lambda client: client.collection_exists(collection))
        finally:
            await wire.close()

    @classmethod
    async def remove(
        cls,
        url: str,
        api_key: SecretStr | str | None,
        collection: str,
        *,
        home: str | None = None,
        seconds: float = 10.0,
    ) -> None:
        """Delete a collection, whether it is there or not. Raises QdrantConnectionError, also for one that belongs to
        another home than `home`."""
        wire = Wire.to(url, api_key, timeout=seconds)
        try:
            if await wire(lambda client: client.collection_exists(collection)):
                info = await wire(lambda client: client.get_collection(collection))
                if (its := _home(info.config.metadata)) not in (None, home):
                    raise QdrantConnectionError(_OTHERS, collection=collection, address=wire.address, home=its)
                await wire(lambda client: client.delete_collection(collection))
        finally:
            await wire.close()

    # -- whose it is ------------------------------------------------------------------------------------------------

    async def claim(self, home: str) -> None:
        await self._wire(lambda client: client.update_collection(self._name, metadata={"home": home}))
        self.home = home

    async def after(self, generation: int) -> int:
        born = await self._counted(all_of(number("born", gt=generation, lt=STAGED)))
        return born + await self._counted(all_of(number("died", gt=generation, lt=ALIVE)))

    async def strangers(self, generation: int, document_ids: Collection[str]) -> int:
        return await self._counted(_strange(generation, document_ids))

    async def drop_strangers(self, generation: int, document_ids: Collection[str]) -> None:
        await self._change(deleting(_strange(generation, document_ids)))

    async def _counted(self, which: models.Filter) -> int:
        found = await self._wire(
            lambda client: client.count(self._name, which, exact=True, consistency=self._consistency)
        )
        return found.count

    # -- writing ----------------------------------------------------------------------------------------------------

    async def put(self, points: Sequence[Point]) -> None:
        async with self._writing:
            for start in range(0, len(points), _WRITTEN_AT_ONCE):
                some = points[start : start + _WRITTEN_AT_ONCE]
                await self._upsert([point_of(point, {PROCESS: self._process}) for point in some])

    async def publish(self, document_id: str, *, at: int) -> int:
        mine = equals("document_id", document_id), equals(PROCESS, self._process)
        staged = all_of(*mine, number("born", gte=STAGED))
        await self._change(setting(living(document_id, before=at), {"died": at}), setting(staged, {"born": at}))
        return await self._counted(all_of(*mine, number("born", gte=at, lte=at)))

    async def retire(self, document_id: str, *, died: int) -> None:
        await self._change(setting(living(document_id, before=died), {"died": died}))

    async def undo(self, document_id: str, *, at: int, revive: bool = True) -> None:
        document = equals("document_id", document_id)
        mine = deleting(all_of(document, equals(PROCESS, self._process), number("born", gte=at, lte=at)))
        before = setting(all_of(document, number("died", gte=at, lte=at)), {"died": ALIVE})
        await self._change(*([mine, before] if revive else [mine]))

    async def roll_back(self, generation: int) -> None:
        await self._change(
            deleting(all_of(number("born", gt=generation, lt=STAGED))),
            setting(all_of(number("died", gt=generation, lt=ALIVE)), {"died": ALIVE}),
        )

    async def unstage(self, living: Collection[str] = ()) -> None:
        theirs = models.FieldCondition(key=PROCESS, match=models.MatchAny(any=sorted(living)))
        staged = models.Filter(must=[number("born", gte=STAGED)], must_not=[theirs] if living else None)
        await self._change(deleting(staged))

    async def discard(self, document_id: str) -> None:
        await self._change(deleting(all_of(equals("document_id", document_id))))

    async def sweep(self, generation: int) -> int:
        dead = all_of(number("died", lte=generation))
        swept = await self._counted(dead)
        if swept:
            await self._change(deleting(dead))
        return swept

    async def move(self, collection: str, into: str) -> None:
        shown = all_of(equals("collection", collection), number("born", lt=STAGED))
        await self._change(setting(shown, {"collection": into}))

    async def copy(self, document_id: str, **about: str | None) -> int:
        changes = changes_of(about) | {"born": STAGED, PROCESS: self._process}
        total = 0
        async with self._writing:
            async for records in self._pages(living(document_id, before=STAGED), limit=_WRITTEN_AT_ONCE, vectors=True):
                copies = [again(record, changes) for record in records]
                if copies:
                    await self._upsert(copies)
                total += len(copies)
        return total

    async def _upsert(self, points: list[models.PointStruct]) -> None:
        await self._write(
            lambda client: client.upsert(self._name, points, wait=True, ordering=models.WriteOrdering.STRONG)
        )

    async def _change(self, *operations: models.UpdateOperation) -> None:
        """The operations in this order, in one request; the permanent leader of each shard keeps them in order."""
        async with self._writing:
            await self._write(
                lambda client: client.batch_update_points(
                    self._name, operations, wait=True, ordering=models.WriteOrdering.STRONG
                )
            )

    async def _write(
        self,
        change: Callable[[AsyncQdrantBase], Awaitable[models.UpdateResult | list[models.UpdateResult]]],
    ) -> None:
        async def done(client: AsyncQdrantBase) -> None:
            results = await change(client)
            for result in results if isinstance(results, list) else [results]:
                if result.status != models.UpdateStatus.COMPLETED:
                    raise Pending(result.status)

        await self._wire(done)

    # -- reading ----------------------------------------------------------------------------------------------------

    async def query(self, view: View, *probes: Probe, limit: int = 50) -> list[Candidates]:
        asked = parts(probes)
        if blind(view) or not asked:
            return gathered(probes, {part: () for part in asked if not isinstance(part, int)})
        found, failures = await self._asked({part: nearest(part, at, view, limit) for part, at in asked.items()})
        lists = {
            part: [Scored(str(point.id), point.score, part[2]) for point in points]
            for part, points in found.items()
            if not isinstance(part, int)
        }
        failed = {part: _unnamed(error) for part, error in failures.items() if not isinstance(part, int)}
        terms = {part: found.get(part, ()) for part in asked if isinstance(part, int)}
        return gathered(probes, lists, failed, await self._weights(terms))

    async def _asked(
        self, requests: Mapping[Part | int, models.QueryRequest]
    ) -> tuple[dict[Part | int, list[models.ScoredPoint]], dict[Part | int, QdrantConnectionError]]:
        """Each request's list, or its failure: one that fails must not take the others with it."""
        try:
            return dict(zip(requests, await self._batch([*requests.values()]), strict=True)), {}
        except QdrantConnectionError as error:
            if not of_one(error):
                log.warning("a search failed: %s (%s)", error, error.__cause__)
                return {}, dict.fromkeys(requests, error)
        terms = [part for part in requests if isinstance(part, int)]
        groups = [[part] for part in requests if not isinstance(part, int)] + ([terms] if terms else [])
        answers = await asyncio.gather(
            *(self._batch([requests[part] for part in group], retry=False) for group in groups), return_exceptions=True
        )
        lists: dict[Part | int, list[models.ScoredPoint]] = {}
        failed: dict[Part | int, QdrantConnectionError] = {}
        for group, answer in zip(groups, answers, strict=True):
            match answer:
                case QdrantConnectionError():
                    log.warning("a part of a search failed (%s): %s (%s)", group, answer, answer.__cause__)
                    failed |= dict.fromkeys(group, answer)
                case BaseException():
                    raise answer
                case _:
                    lists |= zip(group, answer, strict=True)
        return lists, failed

    async def _batch(
        self, requests: Sequence[models.QueryRequest], *, retry: bool = True
    ) -> list[list[models.ScoredPoint]]:
        answers = await self._wire(
            lambda client: client.query_batch_points(self._name, requests, consistency=self._consistency), retry=retry
        )
        return [answer.points for answer in answers]

    async def _weights(self, found: Mapping[int, Sequence[models.ScoredPoint]]) -> dict[int, float]:
        """The server's weight of each term: a score is idf × the point's weight for the term, and the
        point's vector holds that weight."""
        known: dict[int, float] = {}
        for term, points in found.items():
            vectors = points[0].vector if points else None
            words = vectors.get(USING["words"]) if isinstance(vectors, dict) else None
            if isinstance(words, models.SparseVector):
                known[term] = points[0].score / words.values[words.indices.index(term)]
        if len(known) == len(found):
            return known
        unknown = max(math.log(1 + (await self._points() + 0.5) / 0.5), *known.values(), 0.0)
        return {term: known.get(term, unknown) for term in found}

    async def _points(self) -> int:
        """About how many there are, seen by whomever."""
        now = asyncio.get_running_loop().time()
        if self._size is None or now - self._size[0] > _SIZE_HOLDS:
            try:
                info = await self._wire(lambda client: client.get_collection(self._name), retry=False)
            except QdrantConnectionError as error:
                log.warning("the size of the collection is not known: %s (%s)", error, error.__cause__)
                return self._size[1] if self._size else 0
            self._size = now, info.points_count or 0
        return self._size[1]

    async def sample(self, generation: int, limit: int) -> list[tuple[Language, Vector]]:
        living = all_of(number("born", lte=generation), number("died", gt=generation))
        records, _ = await self._page(living, limit=limit, payload=["language"], vectors=[USING["dense"]])
        found: list[tuple[Language, Vector]] = []
        for record in records:
            vectors: Any = record.vector
            found.append(((record.payload or {})["language"], vectors[USING["dense"]]))
        return found

    async def fetch(self, ids: Sequence[str], view: View) -> Mapping[str, Indexed]:
        if not ids or blind(view):
            return {}
        which = seen(view, models.HasIdCondition(has_id=[*ids]))
        records, _ = await self._page(which, limit=len(ids))
        return {str(record.id): indexed_of(record.payload or {}) for record in records}

    async def passages(self, document_id: str, numbers: range, view: View) -> list[Passage]:
        if not numbers or blind(view):
            return []
        which = seen(view, equals("document_id", document_id), number("chunk", gte=min(numbers), lte=max(numbers)))
        limit = min(max(numbers) - min(numbers) + 1, _READ_AT_ONCE)
        pages = self._pages(which, limit=limit)
        found = [passage_of(record.payload or {}) async for records in pages for record in records]
        return sorted((passage for passage in found if passage.chunk in numbers), key=lambda passage: passage.chunk)

    async def vectors(self, document_id: str) -> AsyncIterator[tuple[Passage, Vector]]:
        which = living(document_id, before=STAGED)
        async for records in self._pages(which, limit=_WRITTEN_AT_ONCE, vectors=[USING["dense"]]):
            for record in records:
                vectors: Any = record.vector
                yield passage_of(record.payload or {}), vectors[USING["dense"]]

    async def scroll(
        self, view: View, *, offset: str | None = None, limit: int = 50
    ) -> tuple[list[Passage], str | None]:
        if blind(view):
            return [], None
        records, then = await self._page(seen(view), limit=limit, offset=offset)
        return [passage_of(record.payload or {}) for record in records], None if then is None else str(then)

    async def _pages(
        self, which: models.Filter, *, limit: int, vectors: bool | list[str] = False
    ) -> AsyncIterator[list[models.Record]]:
        """All of them, so many at a time: a server's strict mode may give no more at once."""
        offset: Any = None
        while True:
            records, offset = await self._page(which, limit=limit, offset=offset, vectors=vectors)
            yield records
            if offset is None:
                return

    async def _page(
        self,
        which: models.Filter,
        *,
        limit: int,
        offset: Any = None,
        payload: bool | list[str] = True,
        vectors: bool | list[str] = False,
    ) -> tuple[list[models.Record], Any]:
        return await self._wire(
            lambda client: client.scroll(
                self._name,
                scroll_filter=which,
                limit=limit,
                offset=offset,
                with_payload=payload,
                with_vectors=vectors,
                consistency=self._consistency,
            )
        )

    async def count(self, view: View) -> int:
        if blind(view):
            return 0
        return await self._counted(seen(view))

    async def trouble(self) -> Text | None:
        try:
            info = await self._wire(lambda client: client.get_collection(self._name), retry=False)
        except QdrantConnectionError as error:
            return error.said
        return BROKEN if info.status == models.CollectionStatus.RED else None

    async def close(self) -> None:
        async with self._writing:
            await self._wire.close()


def _strange(generation: int, document_ids: Collection[str]) -> models.Filter:
    known = [models.FieldCondition(key="document_id", match=models.MatchAny(any=sorted(document_ids)))]
    living = [number("born", lte=generation), number("died", gt=generation)]
    return models.Filter(must=[*living], must_not=[*known] if document_ids else None)


def _unnamed(error: QdrantConnectionError) -> QdrantConnectionError:
    """In words for whoever searches, who need not know the server's address."""
    failure = QdrantConnectionError(BROKEN)
    failure.__cause__ = error.__cause__
    return failure


# -- opening --------------------------------------------------------------------------------------------------------


async def _create(
    wire: Wire,
    name: str,
    metadata: dict[str, Any],
    dimensions: int,
    shards: int | None,
    replicas: int | None,
    write_consistency: int | None,
) -> None:
    weighed = models.SparseVectorParams(modifier=models.Modifier.IDF)
    try:
        await wire(
            lambda client: client.create_collection(
                name,
                vectors_config={
                    USING["dense"]: models.VectorParams(
                        size=dimensions,
                        distance=models.Distance.COSINE,
                        datatype=models.Datatype.FLOAT16,  # as in the embedded store: the same scores, half the memory
                    )
                },
                sparse_vectors_config={USING[branch]: weighed for branch in ("words", "ngrams")},
                shard_number=shards,
                replication_factor=replicas,
                write_consistency_factor=write_consistency,
                metadata=metadata,
            )
        )
    except QdrantConnectionError:
        if not await wire(lambda client: client.collection_exists(name)):  # another process was first
            raise


async def _index(wire: Wire, name: str, field: str) -> None:
    schema: models.KeywordIndexParams | models.IntegerIndexParams = (
        models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=False, range=True)
        if field in NUMBERS
        else models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD)
    )
    await wire(lambda client: client.create_payload_index(name, field, schema, wait=True))


def _metadata(made: Made, home: str | None) -> dict[str, Any]:
    return asdict(made) | ({"home": home} if home else {})


def _home(metadata: Mapping[str, Any] | None) -> str | None:
    home = (metadata or {}).get("home")
    return home if isinstance(home, str) else None


def _check(metadata: Mapping[str, Any] | None, made: Made, name: str, address: str) -> None:
    try:
        was = Made(*((metadata or {})[field.name] for field in fields(Made)))
    except KeyError:
        was = None
    if was is None:
        raise EmbeddingError(_NOT_OURS, collection=name, address=address)
    if was != made:
        raise EmbeddingError(_MISMATCH, collection=name, address=address, was=was, wanted=made)
