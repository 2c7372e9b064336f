"""The HTTP side of Discord's fake: the REST API with its journal and its rate limit headers, and the files'
addresses."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import BodyPartReader, web

from tests.fakes.discord_gate import ERRORS, Fault, Faults, Rates, Refused
from tests.fakes.discord_payloads import signature
from tests.fakes.discord_world import App, File, World

Json = dict[str, Any]
BODY_LIMIT = 25 * 2**20  # Source: resources/message, create message
_JSON = {"Content-Type": "application/json"}  # exactly so: with a charset, discord.py hands on a str
_VIA = {"Via": "1.1 google"}  # without it, discord.py takes a 429 for a Cloudflare ban
_UNSAID: Any = object()


@dataclass(slots=True)
class Upload:
    """A file as it came in. `number`: the n of files[n]."""

    number: str
    name: str
    content: bytes


@dataclass(slots=True)
class Call:
    """A request as a handler gets it."""

    app: App
    params: dict[str, str]
    query: dict[str, str]
    body: Any
    files: list[Upload] = field(default_factory=list)

    def __getitem__(self, name: str) -> str:
        return self.params[name]


Handler = Callable[[Call], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """`bucket` "": limited with nothing else. `token` False: anybody may call it, and the global limit is not for
    it."""

    method: str
    template: str
    handler: Handler
    bucket: str = ""
    token: bool = True

    @property
    def name(self) -> str:
        return f"{self.method} {self.template}"


@dataclass
class Entry:
    """One request. `route` is like "POST /channels/{channel}/messages"; `at` in real seconds; `answer` None: no
    body."""

    route: str
    params: dict[str, str]
    query: dict[str, str]
    body: Any
    at: float
    app: str = ""
    files: list[str] = field(default_factory=list)
    status: int = 0
    answer: Any = None
    fault: str = ""
    left: int | None = None  # of its bucket, after it; None: none counted it

    @property
    def code(self) -> int:
        """Discord's error code; 0 if there is none."""
        return int(self.answer.get("code") or 0) if self.status >= 400 and isinstance(self.answer, dict) else 0


@dataclass
class Journal:
    """Every request."""

    entries: list[Entry] = field(default_factory=list)

    def calls(self, route: str, **given: Any) -> list[Entry]:
        """The requests of this route with these path parameters or fields of their body."""

        def fits(entry: Entry) -> bool:
            body = entry.body if isinstance(entry.body, dict) else {}
            return all(entry.params.get(name, body.get(name, _UNSAID)) == value for name, value in given.items())

        return [each for each in self.entries if each.route == route and fits(each)]

    def errors(self) -> list[str]:
        return [f"{each.route}: {each.status} {each.code}" for each in self.entries if each.status >= 400]


class Server:
    def __init__(self, world: World, apps: list[App], journal: Journal) -> None:
        self.faults = Faults()
        self.rates = Rates(world.clock)
        self.bugs: list[Exception] = []  # of this fake, or bodies so odd that it fell over them
        self.busy = 0
        self.last = time.monotonic()
        self._world = world
        self._apps = apps
        self._journal = journal
        self._routes: list[tuple[Route, re.Pattern[str]]] = []
        self._over = asyncio.Event()

    def add(self, routes: Iterable[Route]) -> None:
        for route in routes:
            pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", route.template)
            self._routes.append((route, re.compile(pattern)))

    def serve(self, router: web.UrlDispatcher) -> None:
        router.add_route("*", "/api/v10/{path:.*}", self._api)
        for kind in ("attachments", "ephemeral-attachments"):
            router.add_get(f"/{kind}/{{channel}}/{{file}}/{{name}}", self._download)
            router.add_get(f"/proxy/{kind}/{{channel}}/{{file}}/{{name}}", self._download)
        router.add_get("/elsewhere/{name}", self._elsewhere)

    def close(self) -> None:
        self._over.set()

    def knows(self, route: str) -> bool:
        return route == "*" or any(each.name == route for each, _ in self._routes)

    # -- the API ----------------------------------------------------------------------------------------------------

    async def _api(self, request: web.Request) -> web.StreamResponse:
        self.busy += 1
        try:
            return await self._answer(request)
        except Exception as error:
            self.bugs.append(error)
            raise
        finally:
            self.busy -= 1
            self.last = time.monotonic()
            self._world.changed()

    def _find(self, request: web.Request) -> tuple[Route | None, dict[str, str]]:
        path = "/" + request.match_info["path"]
        for route, pattern in self._routes:
            if route.method == request.method and (found := pattern.fullmatch(path)):
                return route, found.groupdict()
        return None, {}

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        route, params = self._find(request)
        name = route.name if route else f"{request.method} /{request.match_info['path']}"
        entry = Entry(name, params, dict(request.query), None, time.monotonic())
        self._journal.entries.append(entry)
        files: list[Upload] = []
        problem: Refused | None = None
        try:
            entry.body, files = await _read(request)
        except Refused as refused:
            problem = refused
        entry.files = [each.name for each in files]
        fault = self.faults.due(name, entry.body if isinstance(entry.body, dict) else {})
        entry.fault = fault.kind if fault else ""
        if fault and (instead := await self._instead(request, entry, fault)):
            self.rates.answered(entry.status, shared=bool(fault.more.get("shared")))
            return instead
        headers: dict[str, str] = {}
        if self.rates.banned:
            entry.status = 429
            return web.Response(status=429, text="error code: 1015", content_type="text/plain")
        try:
            if problem:
                raise problem
            entry.answer, headers = self._perform(request, route, entry, files)
            entry.status = 204 if entry.answer is None else 200
        except Refused as refused:
            entry.status, entry.answer = refused.status, refused.body
            headers = dict(refused.body.pop("headers", {}))
        self.rates.answered(entry.status)
        if fault:
            await self._afterwards(request, fault)
        return self._reply(entry, headers)

    def _perform(
        self, request: web.Request, route: Route | None, entry: Entry, files: list[Upload]
    ) -> tuple[Any, dict[str, str]]:
        if route is None:
            raise Refused(0)
        token = request.headers.get("Authorization", "").removeprefix("Bot ")
        app = next((each for each in self._apps if each.token == token and not each.revoked), None)
        if route.token and app is None:
            raise Refused(0, status=401, message="401: Unauthorized")
        identity = app.id if app else "anyone"
        entry.app = app.id if app else ""
        resource = entry.params.get("channel") or entry.params.get("guild") or entry.params.get("token", "")
        bucket = route.bucket or route.name
        if route.token and (wait := self.rates.take_global(identity)):
            raise self._limited(wait, {"X-RateLimit-Global": "true", "X-RateLimit-Scope": "global"}, everywhere=True)
        window, wait = self.rates.take(identity, bucket, resource)
        headers = self.rates.headers(window, bucket)
        entry.left = window.limit - window.used
        if wait:
            raise self._limited(wait, headers | {"X-RateLimit-Scope": "user"})
        call = Call(app or self._apps[0], entry.params, entry.query, entry.body, files)
        try:
            return route.handler(call), headers
        except Refused as refused:
            refused.body["headers"] = headers
            raise

    def _limited(self, wait: float, headers: dict[str, str], *, everywhere: bool = False) -> Refused:
        seconds = round(wait / self._world.clock.scale + 0.001, 3)
        refused = Refused(0, status=429, message="You are being rate limited.")
        refused.body = {"message": "You are being rate limited.", "retry_after": seconds, "global": everywhere}
        refused.body["headers"] = headers | {"Retry-After": str(int(seconds) + 1)}
        return refused

    def _reply(self, entry: Entry, headers: dict[str, str]) -> web.Response:
        if entry.answer is None:
            return web.Response(status=entry.status, headers=headers | _VIA)
        body = json.dumps(entry.answer, ensure_ascii=False).encode()
        return web.Response(status=entry.status, body=body, headers=headers | _VIA | _JSON)

    async def _instead(self, request: web.Request, entry: Entry, fault: Fault) -> web.StreamResponse | None:
        """What a fault that comes before anything is done answers; None for those that come after."""
        entry.status = fault.status
        match fault.kind:
            case "status" if fault.error == "ratelimited":
                if fault.more["banned"]:
                    return web.Response(status=429, text="error code: 1015", content_type="text/plain")
                everywhere = bool(fault.more["global"])
                entry.answer = {"message": "You are being rate limited.", "retry_after": fault.seconds}
                entry.answer |= {"global": everywhere}
                if code := fault.more.get("code"):
                    entry.answer |= {"code": code, "message": ERRORS[code][1]}
                scope = "global" if everywhere else "shared" if fault.more["shared"] else "user"
                headers = {"Retry-After": str(int(fault.seconds) + 1), "X-RateLimit-Scope": scope}
                return self._reply(entry, headers | ({"X-RateLimit-Global": "true"} if everywhere else {}))
            case "status":
                entry.answer = {"message": f"{fault.status}: Server Error", "code": 0}
                return self._reply(entry, {})
            case "error":
                entry.answer = {"message": fault.error, "code": fault.more["code"]}
                return self._reply(entry, {})
            case "page":
                page = "<html><body><h1>Something went wrong</h1></body></html>"
                return web.Response(status=fault.status, text=page, content_type="text/html")
            case "cut_before":
                return _cut(request)
            case "hang":
                await self._hang()
                return web.Response(status=500)
        return None

    async def _afterwards(self, request: web.Request, fault: Fault) -> None:
        match fault.kind:
            case "cut_after":
                _cut(request)
            case "hang_after":
                await self._hang()
            case "slow":
                await asyncio.sleep(fault.seconds)

    async def _hang(self) -> None:
        self.busy -= 1  # nobody is waited for who will not be answered
        try:
            await self._over.wait()
        finally:
            self.busy += 1

    # -- files ------------------------------------------------------------------------------------------------------

    async def _download(self, request: web.Request) -> web.StreamResponse:
        file = self._world.files.get(request.match_info["file"])
        entry = self._note(request, "GET file", {"file": request.match_info["file"]})
        gone = web.Response(status=404, text="This content is no longer available.")
        try:
            until = int(request.query.get("ex", ""), 16)
        except ValueError:
            until = 0
        fresh = until > self._world.wall()
        signed = file is not None and request.query.get("hm") == signature(file.id, until)
        if file is None or not fresh or not signed or file.serves == "missing":
            entry.status = 404
            return gone
        return await self._send(request, file)

    async def _send(self, request: web.Request, file: File) -> web.StreamResponse:
        kind = {"Content-Type": file.mimetype or "application/octet-stream"}
        match file.serves:
            case "redirect":
                raise web.HTTPFound(file.redirect)
            case "page":
                return web.Response(text="<!DOCTYPE html><title>Just a moment...</title>", content_type="text/html")
            case "hang":
                await self._over.wait()
            case "endless":
                response = web.StreamResponse(headers=kind)
                await response.prepare(request)
                while not self._over.is_set():
                    try:
                        await response.write(b"x" * 65_536)
                    except ConnectionError:
                        break
                return response
            case "cut":
                response = web.StreamResponse(headers=kind | {"Content-Length": str(len(file.content) + 1)})
                await response.prepare(request)
                await response.write(file.content[: len(file.content) // 2])
                _cut(request)
                return response
        return web.Response(body=file.content, headers=kind)

    async def _elsewhere(self, request: web.Request) -> web.StreamResponse:
        """Not Discord: where a redirect may lead, by another name of this machine. The journal tells who brought a
        token."""
        self._note(request, "GET elsewhere", {})
        return web.Response(body=b"from elsewhere", content_type="application/octet-stream")

    def _note(self, request: web.Request, route: str, params: dict[str, str]) -> Entry:
        body = {"authorization": "Authorization" in request.headers}
        entry = Entry(route, params, dict(request.query), body, time.monotonic(), status=200)
        self._journal.entries.append(entry)
        self.last = time.monotonic()
        self._world.changed()
        return entry


def _cut(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.close()
    return web.Response()


async def _read(request: web.Request) -> tuple[Any, list[Upload]]:
    """The body of a call and its files, however they came. Raises Refused."""
    files: list[Upload] = []
    text = b""
    if request.content_type == "multipart/form-data":
        async for part in await request.multipart():
            if not isinstance(part, BodyPartReader):
                continue
            content = bytes(await part.read(decode=True))
            if part.name == "payload_json":
                text = content
            elif found := re.fullmatch(r"files\[(\d+)\]", part.name or ""):
                files.append(Upload(found[1], part.filename or "unknown", content))
        if sum(len(each.content) for each in files) > BODY_LIMIT:
            raise Refused(40005)
    elif request.can_read_body:
        text = await request.read()
        if request.content_type != "application/json":
            raise Refused(50035, message="Expected \"Content-Type\" header to be one of {'application/json'}.")
    if not text:
        return {}, files
    try:
        return json.loads(text), files
    except ValueError:
        raise Refused(50109) from None
