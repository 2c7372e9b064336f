"""The Hugging Face hub on loopback, as far as its client asks for datasets: it refuses as the real one does, and fails
on order. Large files are redirected to a second host, as the real hub's are to its CDN.

Source: huggingface.co/docs/hub/api; huggingface_hub 1.33 `utils/_http.py`, `file_download.py`.
"""

import asyncio
import hashlib
import io
import re
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from aiohttp import web
from arro3.core import Array, DataType, Table
from arro3.io import write_parquet

MAIN = "main"
CONVERTED = "refs/convert/parquet"
TOKEN = "hf_loopbackTokenNotASecret0123456789"


def parquet(rows: Sequence[Mapping[str, Any]], *, group: int = 100, compression: str = "snappy") -> bytes:
    """A Parquet file of text columns, written as the `datasets` library writes them: many small row groups."""
    names = list(rows[0]) if rows else ["text"]
    columns: dict[str, Any] = {name: Array([row.get(name) for row in rows], DataType.string()) for name in names}
    out = io.BytesIO()
    write_parquet(Table.from_pydict(columns), out, compression=compression, max_row_group_size=group)
    return out.getvalue()


@dataclass(frozen=True)
class Refuse:
    """An error status with the hub's own headers."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = '{"error": "refused"}'


@dataclass(frozen=True)
class Cut:
    """The body ends after so many bytes, though more were asked for, and announced unless `openly`."""

    after: int = 100
    openly: bool = False


@dataclass(frozen=True)
class Hang:
    """Silence until the server is closed."""


Order = Refuse | Cut | Hang

GATED = Refuse(403, {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to this dataset is restricted."})
DISABLED = Refuse(403, {"X-Error-Message": "Access to this resource is disabled."})
BAD_TOKEN = Refuse(401, {"X-Error-Message": "Invalid credentials in Authorization header"})


def busy(seconds: int) -> Refuse:
    return Refuse(429, {"Retry-After": str(seconds)})


def limited(seconds: int) -> Refuse:
    policy = {"RateLimit": f'"api";r=0;t={seconds}', "RateLimit-Policy": '"fixed window";"api";q=500;w=300'}
    return Refuse(429, policy)


@dataclass(frozen=True)
class Asked:
    """One request: where it came in (`hub` or `cdn`)."""

    host: Literal["hub", "cdn"]
    method: str
    path: str
    range: str | None
    headers: Mapping[str, str]


class FakeHub:
    """`async with FakeHub({"owner/name": {"main": {"train.parquet": b"…"}}}) as hub:`; then `.url`.

    `fail(order, …)` is for the next requests of that kind. Its journal is `asked`.
    """

    def __init__(
        self,
        repositories: Mapping[str, Mapping[str, Mapping[str, bytes]]],
        *,
        gated: Sequence[str] = (),
        redirects: bool = True,
        ranges: bool = True,
    ) -> None:
        self.repositories = repositories
        self.asked: list[Asked] = []
        self.url = ""
        self._gated = frozenset(gated)
        self._redirects = redirects
        self._ranges = ranges
        self._orders: dict[str, deque[Order]] = {"info": deque(), "head": deque(), "bytes": deque()}
        self._cdn = ""
        self._closing = asyncio.Event()
        self._runners: list[web.AppRunner] = []
        self.waiting = threading.Event()  # somebody waits for bytes that do not come

    def fail(self, what: Literal["info", "head", "bytes"], *orders: Order) -> None:
        self._orders[what].extend(orders)

    def fetched(self) -> int:
        """Bytes that were asked for by range."""
        spans = [re.fullmatch(r"bytes=(\d+)-(\d+)", asked.range) for asked in self.asked if asked.range]
        return sum(int(span[2]) + 1 - int(span[1]) for span in spans if span) // (2 if self._redirects else 1)

    async def __aenter__(self) -> Self:
        self._cdn = await self._serve("cdn", [web.get("/{repo:[^/]+/[^/]+}/{sha}/{path:.+}", self._blob)])
        self.url = await self._serve(
            "hub",
            [
                web.get("/api/datasets/{repo:[^/]+/[^/]+}", self._info),
                web.get("/api/datasets/{repo:[^/]+/[^/]+}/revision/{revision:.+}", self._info),
                web.get("/datasets/{repo:[^/]+/[^/]+}/resolve/{revision:[^/]+}/{path:.+}", self._resolve),
            ],
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        for runner in self._runners:
            await runner.cleanup()

    async def _serve(self, host: Literal["hub", "cdn"], routes: list[web.RouteDef]) -> str:
        @web.middleware
        async def journal(request: web.Request, handler: Any) -> web.StreamResponse:
            headers = {name.lower(): value for name, value in request.headers.items()}
            self.asked.append(Asked(host, request.method, request.path, headers.get("range"), headers))
            response: web.StreamResponse = await handler(request)
            return response

        app = web.Application(middlewares=[journal])
        app.add_routes(routes)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        self._runners.append(runner)
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        name = "127.0.0.1" if host == "hub" else "localhost"  # the token must not go to another host
        port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        return f"http://{name}:{port}"

    # -- the API ----------------------------------------------------------------------------------------------------

    async def _info(self, request: web.Request) -> web.StreamResponse:
        if refused := await self._ordered("info", request):
            return refused
        repository, revision = request.match_info["repo"], request.match_info.get("revision", MAIN)
        if repository not in self.repositories:
            return _missing("RepoNotFound", "Repository not found", 401 if not _token(request) else 404)
        files = self._at(repository, revision)
        if files is None:
            return _missing("RevisionNotFound", f"Invalid rev id: {revision}")
        body = {
            "_id": "621ffdd236468d709f182a80",
            "id": repository,
            "sha": sha(revision),
            "gated": "auto" if repository in self._gated else False,
            "private": False,
            "disabled": False,
            "tags": [],
            "siblings": [{"rfilename": name} for name in files],
        }
        return web.json_response(body)

    async def _resolve(self, request: web.Request) -> web.StreamResponse:
        if refused := await self._ordered("head" if request.method == "HEAD" else "bytes", request):
            return refused
        repository, path = request.match_info["repo"], request.match_info["path"]
        if repository in self._gated and _token(request) != TOKEN:
            return _refusal(GATED if _token(request) else Refuse(401, GATED.headers))
        files = self._at(repository, request.match_info["revision"])
        if files is None or path not in files:
            return _missing("EntryNotFound", "Entry not found")
        data = files[path]
        headers = {
            "X-Repo-Commit": request.match_info["revision"],
            "Accept-Ranges": "bytes",
            "ETag": f'"{hashlib.sha1(data).hexdigest()}"',
        }
        if not self._redirects:
            return self._body(request, data, headers)
        headers |= {
            "X-Linked-Size": str(len(data)),
            "X-Linked-ETag": f'"{hashlib.sha256(data).hexdigest()}"',
            "Location": f"{self._cdn}/{repository}/{request.match_info['revision']}/{path}?X-Amz-Signature=abc",
        }
        return web.Response(status=302, headers=headers)

    async def _blob(self, request: web.Request) -> web.StreamResponse:
        files = self._at(request.match_info["repo"], request.match_info["sha"])
        assert files is not None
        return self._body(request, files[request.match_info["path"]], {"Accept-Ranges": "bytes"})

    def _body(self, request: web.Request, data: bytes, headers: dict[str, str]) -> web.StreamResponse:
        span = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("Range", ""))
        if span is None or not self._ranges:
            return web.Response(body=data, headers=headers)
        start, end = int(span[1]), min(int(span[2]) + 1, len(data))
        if start >= len(data):
            return web.Response(status=416, headers={"Content-Range": f"bytes */{len(data)}"})
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(data)}"
        return web.Response(status=206, body=data[start:end], headers=headers)

    def _at(self, repository: str, revision: str) -> Mapping[str, bytes] | None:
        revisions = self.repositories.get(repository, {})
        return next((files for name, files in revisions.items() if revision in (name, sha(name))), None)

    async def _ordered(self, what: str, request: web.Request) -> web.StreamResponse | None:
        orders = self._orders[what]
        order = orders.popleft() if orders else None
        match order:
            case None:
                return None
            case Refuse():
                return _refusal(order)
            case Hang():
                self.waiting.set()
                await self._closing.wait()
                return web.Response(status=503)
            case Cut():
                span = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("Range", "bytes=0-999"))
                assert span
                length = int(span[2]) + 1 - int(span[1])
                cut = web.StreamResponse(
                    status=206,
                    headers={
                        "Content-Length": str(order.after if order.openly else length),
                        "Content-Range": f"bytes {span[1]}-{span[2]}/1000000",
                    },
                )
                await cut.prepare(request)
                await cut.write(b"x" * min(order.after, length - 1))
                if order.openly:
                    return cut
                assert request.transport
                request.transport.close()
                return cut


def sha(revision: str) -> str:
    return hashlib.sha1(revision.encode()).hexdigest()


def _token(request: web.Request) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def _missing(code: str, message: str, status: int = 404) -> web.Response:
    return web.json_response(
        {"error": message}, status=status, headers={"X-Error-Code": code, "X-Error-Message": message}
    )


def _refusal(order: Refuse) -> web.Response:
    return web.Response(
        status=order.status, headers=dict(order.headers), text=order.body, content_type="application/json"
    )
