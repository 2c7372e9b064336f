"""A Qdrant server on loopback: qdrant-client's local mode behind the REST interface, with what a real server adds to
it.

It wants its key, knows what each field is indexed for and refuses to filter by it otherwise (as the strict mode of
Qdrant Cloud does), nor gives more than `MOST` points at once (as a strict mode may be set to), refuses a vector of
another length or name together with the batch it came in, and fails on order. A write that is not waited for is only
acknowledged. Of several replicas one can lag behind, and answers whoever does not ask what most of them have. Every
request is in the journal.
"""

import asyncio
import base64
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from pydantic import BaseModel, ValidationError
from qdrant_client import models
from qdrant_client.local.async_qdrant_local import AsyncQdrantLocal

Json = dict[str, Any]
Write = Callable[[AsyncQdrantLocal], Awaitable[Any]]
KEY = "qdrant-fake-key-0123456789"
MOST = 1000  # the strict mode's `max_query_limit`
LARGEST = 32 * 2**20  # bytes of a request


# -- what can be ordered --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Refuse:
    """An error status as Qdrant words it, or a proxy's page (also with status 200); with `done` after the request has
    been carried out, with `half` after a part of what it writes has."""

    code: int
    message: str = "Service internal error"
    headers: Mapping[str, str] = field(default_factory=dict)
    page: str = ""
    done: bool = False
    half: bool = False


@dataclass(frozen=True)
class Drop:
    """The connection ends without an answer; with `done` after the request has been carried out."""

    done: bool = False


@dataclass(frozen=True)
class Hang:
    """Silence."""


@dataclass(frozen=True)
class Answer:
    """This result, whatever was asked."""

    result: Any


Order = Refuse | Drop | Hang | Answer


@dataclass(frozen=True)
class Call:
    """One request. `kind` is its method and path without the collection: `POST points/query/batch`."""

    kind: str
    collection: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Json

    def filters(self) -> Iterator[Json]:
        """The filter of each thing that is asked or changed by filter; {} where one has none."""
        for asked in self.body.get("searches", [self.body]):
            yield asked.get("filter") or {}


class FakeQdrant:
    """`async with FakeQdrant() as server:`; then `.url`. `key` None: it asks for none.

    `order("points/query", Refuse(503), …)` is for the next requests whose path holds that text. `basic` is what a proxy
    in front wants; `metadata` False is a server before 1.16, which drops what it does not know. `lags`: one of the
    `replicas` has everything but the last write.
    """

    def __init__(
        self,
        *,
        key: str | None = KEY,
        basic: tuple[str, str] | None = None,
        metadata: bool = True,
        replicas: int = 1,
        lags: bool = False,
    ) -> None:
        self.url = ""
        self.journal: list[Call] = []
        self.status = "green"
        self._key = key
        self._basic = basic and "Basic " + base64.b64encode(":".join(basic).encode()).decode()
        self._metadata = metadata
        self._replicas = replicas
        self._lags = lags
        self._orders: deque[tuple[str, Order]] = deque()
        self._indexes: dict[str, dict[str, str]] = {}
        self._sizes: dict[str, int] = {}
        self._late: dict[str, Write] = {}
        self._over = asyncio.Event()

    def order(self, path: str, *orders: Order) -> None:
        self._orders.extend((path, one) for one in orders)

    def calm(self) -> None:
        """Nothing that was ordered happens any more."""
        self._orders.clear()

    def calls(self, kind: str) -> list[Call]:
        return [call for call in self.journal if call.kind == kind]

    def snapshot(self) -> Any:
        """All collections, to be put into another server by `recover` when they have been pickled."""
        local: Any = self._store
        return local.collections, self._indexes, self._sizes

    def recover(self, snapshot: Any) -> None:
        local: Any = self._store
        local.collections, self._indexes, self._sizes = snapshot

    def forget_metadata(self, name: str) -> None:
        """As if no collection had ever been given this piece of metadata."""
        local: Any = self._store
        for collection in local.collections.values():
            (collection.config.metadata or {}).pop(name, None)

    @property
    def finished(self) -> bool:
        return not self._orders

    @property
    def indexes(self) -> dict[str, dict[str, str]]:
        """Collection → field → type."""
        return self._indexes

    async def __aenter__(self) -> Self:
        self._store, self._behind = AsyncQdrantLocal(":memory:"), AsyncQdrantLocal(":memory:")
        app = web.Application(client_max_size=2 * LARGEST)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        await self._runner.cleanup()
        await self._store.close()
        await self._behind.close()

    # -- a request ----------------------------------------------------------------------------------------------------

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        first, _, rest = request.match_info["path"].partition("/")
        name, _, what = rest.partition("/")
        sent = await request.read()
        if len(sent) > LARGEST:
            return _wrong(400, f"JSON payload ({len(sent)} bytes) is larger than allowed (limit: {LARGEST} bytes).")
        body = json.loads(sent) if sent else {}
        call = Call(f"{request.method} {what}".strip(), name, dict(request.query), dict(request.headers), body)
        self.journal.append(call)
        if self._basic and request.headers.get("Authorization") != self._basic:
            return web.Response(status=401, text="<html><h1>401 Authorization Required</h1></html>")
        ordered = self._ordered(request.path)
        match ordered:
            case Refuse(done=False, half=False):
                return _refused(ordered)
            case Hang():
                await self._over.wait()
            case Drop(done=False):
                return self._dropped(request)
            case Answer():
                return _answered(ordered.result)
            case _:
                pass
        if self._key and request.headers.get("api-key") != self._key:
            return web.Response(status=401, text="Invalid API key or JWT")
        if first != "collections":
            return web.Response(status=404)
        if isinstance(ordered, Refuse) and ordered.half:
            call = replace(call, body=_half(call.body))
        answer = await self._answer(call)
        if isinstance(ordered, Refuse):
            return _refused(ordered)
        return self._dropped(request) if isinstance(ordered, Drop) else answer

    def _ordered(self, path: str) -> Order | None:
        if self._orders and self._orders[0][0] in path:
            return self._orders.popleft()[1]
        return None

    def _dropped(self, request: web.Request) -> web.Response:
        if request.transport:
            request.transport.abort()
        return web.Response()

    async def _answer(self, call: Call) -> web.Response:
        known = await self._store.collection_exists(call.collection)
        if call.kind == "GET exists":
            return _answered({"exists": known})
        if call.kind == "PUT":
            return await self._create(call) if not known else _wrong(409, f"Collection `{call.collection}` exists!")
        if call.kind == "DELETE":
            self._late.pop(call.collection, None)
            for replica in self._all():
                await replica.delete_collection(call.collection)
            return _answered(known)
        if not known:
            return _wrong(404, f"Not found: Collection `{call.collection}` doesn't exist!")
        handlers: dict[str, Callable[[Call], Awaitable[web.Response]]] = {
            "GET": self._info,
            "PATCH": self._change,
            "PUT index": self._index,
            "PUT points": self._upsert,
            "POST points/batch": self._update,
            "POST points/query/batch": self._query,
            "POST points/scroll": self._scroll,
            "POST points/count": self._count,
        }
        unindexed = {key for key, kind in _keys(call.body) if self._indexes[call.collection].get(key) != kind}
        if call.kind.startswith("POST") and unindexed:
            return _wrong(400, f"Bad request: Index required but not found for {sorted(unindexed)}")
        if (limit := max(_limits(call.body), default=0)) > MOST:
            return _wrong(400, f'Bad request: Limit exceeded {limit} > {MOST} for "limit".')
        if invalid := next(_invalid(call.body), None):
            return _wrong(422, f"Validation error in JSON body: [{invalid}]")
        try:
            return await handlers[call.kind](call)
        except ValidationError as error:
            return _wrong(400, f"Format error in JSON body: {error.error_count()}")
        except ValueError as error:  # of the local mode, such as for a vector of another length or name
            return _wrong(400, f"Wrong input: {error}")

    # -- collections -------------------------------------------------------------------------------------------------

    async def _create(self, call: Call) -> web.Response:
        wanted = models.CreateCollection(**call.body)
        assert isinstance(wanted.vectors, dict)
        for replica in self._all():
            await replica.create_collection(
                call.collection,
                vectors_config=wanted.vectors,
                sparse_vectors_config=wanted.sparse_vectors,
                metadata=wanted.metadata if self._metadata else None,
            )
        self._indexes[call.collection] = {}
        self._sizes[call.collection] = wanted.vectors["default"].size
        return _answered(True)

    async def _info(self, call: Call) -> web.Response:
        info = _plain(await self._store.get_collection(call.collection))
        info["status"] = self.status
        info["config"]["params"]["replication_factor"] = self._replicas
        fields = self._indexes[call.collection].items()
        info["payload_schema"] = {name: {"data_type": kind, "points": 0} for name, kind in fields}
        return _answered(info)

    async def _change(self, call: Call) -> web.Response:
        """Metadata is merged; nothing else of a collection is ever changed."""
        wanted = models.UpdateCollection(**call.body)
        assert wanted.model_fields_set == {"metadata"}
        if self._metadata:
            await self._store.update_collection(call.collection, metadata=wanted.metadata)
        return _answered(True)

    async def _index(self, call: Call) -> web.Response:
        wanted = models.CreateFieldIndex(**call.body)
        assert isinstance(wanted.field_schema, models.KeywordIndexParams | models.IntegerIndexParams)
        self._indexes[call.collection][wanted.field_name] = wanted.field_schema.type.value
        return _answered({"operation_id": 1, "status": _status(call)})

    # -- points ------------------------------------------------------------------------------------------------------

    async def _upsert(self, call: Call) -> web.Response:
        points = models.PointsList(**call.body).points
        await self._written(call, lambda replica: replica.upsert(call.collection, points))
        return _answered({"operation_id": 1, "status": _status(call)})

    async def _update(self, call: Call) -> web.Response:
        operations = models.UpdateOperations(**call.body).operations
        await self._written(call, lambda replica: replica.batch_update_points(call.collection, operations))
        return _answered([{"operation_id": 1, "status": _status(call)} for _ in operations])

    async def _query(self, call: Call) -> web.Response:
        size = self._sizes[call.collection]
        searches = models.QueryRequestBatch(**call.body).searches
        for search in searches:
            vector = search.query.nearest if isinstance(search.query, models.NearestQuery) else search.query
            if isinstance(vector, list) and len(vector) != size:
                return _wrong(400, f"Wrong input: Vector dimension error: expected dim: {size}, got {len(vector)}")
        return _answered(await self._replica(call).query_batch_points(call.collection, searches))

    async def _scroll(self, call: Call) -> web.Response:
        asked = models.ScrollRequest(**call.body)
        records, then = await self._replica(call).scroll(
            call.collection,
            scroll_filter=asked.filter,
            limit=asked.limit or 10,
            offset=asked.offset,
            with_payload=True if asked.with_payload is None else asked.with_payload,
            with_vectors=asked.with_vector or False,
        )
        return _answered({"points": _plain(records), "next_page_offset": then})

    async def _count(self, call: Call) -> web.Response:
        asked = models.CountRequest(**call.body)
        return _answered(await self._replica(call).count(call.collection, asked.filter))

    async def _written(self, call: Call, write: Write) -> None:
        """By the replica that lags one write late."""
        await write(self._store)
        if self._lags:
            if late := self._late.get(call.collection):
                await late(self._behind)
            self._late[call.collection] = write

    def _all(self) -> Sequence[AsyncQdrantLocal]:
        return [self._store, self._behind] if self._lags else [self._store]

    def _replica(self, call: Call) -> AsyncQdrantLocal:
        """That answers: where one is enough, the one that lags."""
        agreed = call.query.get("consistency") in ("majority", "quorum", "all")
        return self._behind if self._lags and not agreed else self._store


def _half(body: Json) -> Json:
    """Of the points, or of the operations, those that come first."""
    return {name: each[: (len(each) + 1) // 2] if isinstance(each, list) else each for name, each in body.items()}


def _status(call: Call) -> str:
    return "completed" if call.query.get("wait") == "true" else "acknowledged"


def _limits(body: Json) -> Iterator[int]:
    """How many points each thing that is asked may give."""
    for asked in body.get("searches", [body]):
        if isinstance(limit := asked.get("limit"), int):
            yield limit


def _keys(body: Any) -> Iterator[tuple[str, str]]:
    """The fields that a request filters by, each with the kind of index that serves that."""
    match body:
        case {"key": str(name), "match": _}:
            yield name, "keyword"
        case {"key": str(name), "range": _}:
            yield name, "integer"
        case dict():
            for value in body.values():
                yield from _keys(value)
        case list():
            for value in body:
                yield from _keys(value)


def _invalid(body: Any) -> Iterator[str]:
    """The values that a real server refuses and qdrant-client's local mode takes."""
    match body:
        case {"limit": int(limit)} if limit < 1:
            yield f"limit: value {limit} invalid, must be 1 or larger"
        case {"indices": list(indices), "values": list(values)} if not len({*indices}) == len(indices) == len(values):
            yield "indices: must be unique, as many as values"
        case {"points": []}:
            yield "points: empty update request"
        case dict():
            for value in body.values():
                yield from _invalid(value)
        case list():
            for value in body:
                yield from _invalid(value)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _answered(result: Any) -> web.Response:
    return web.json_response({"result": _plain(result), "status": "ok", "time": 0.0001})


def _wrong(code: int, message: str) -> web.Response:
    return _refused(Refuse(code, message))


def _refused(order: Refuse) -> web.Response:
    if order.page:
        return web.Response(status=order.code, text=order.page, content_type="text/html", headers=order.headers)
    body = {"status": {"error": order.message}, "time": 0.0001}
    return web.json_response(body, status=order.code, headers=order.headers)
