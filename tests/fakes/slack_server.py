"""The HTTP side of Slack's fake: the Web API with its journal, uploads and downloads, and response URLs."""

import asyncio
import json
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes import slack_rules as rules
from tests.fakes.slack_chat import Chat
from tests.fakes.slack_gate import RULES, Fault, Faults, Rates, Refused
from tests.fakes.slack_methods import Methods
from tests.fakes.slack_payloads import Announcer
from tests.fakes.slack_socket import Ack, Delivery, Sockets
from tests.fakes.slack_world import App, File, World

Json = dict[str, Any]
_JSON_FIELDS = ("blocks", "attachments", "metadata", "view", "files", "chunks", "prompts", "loading_messages")
_LOGIN = "<!DOCTYPE html><html><head><title>Sign in | Slack</title></head><body>Sign in to Loopback</body></html>"


@dataclass
class Entry:
    """One request. `at` in real seconds; `answer` None while there is none, or if there never was."""

    method: str
    arguments: Json
    at: float
    app: str = ""
    status: int = 0
    answer: Json | None = None
    fault: str = ""

    @property
    def error(self) -> str:
        return "" if self.answer is None or self.answer.get("ok") else str(self.answer.get("error", ""))


@dataclass
class Journal:
    """Every request, and every ack."""

    entries: list[Entry] = field(default_factory=list)
    acks: list[Ack] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)  # every event and gesture, acked or not

    def calls(self, method: str, **arguments: Any) -> list[Entry]:
        """The requests for this method, with these arguments among theirs."""
        wanted = arguments.items()
        return [each for each in self.entries if each.method == method and wanted <= each.arguments.items()]

    def errors(self) -> list[str]:
        return [f"{each.method}: {each.error}" for each in self.entries if each.error]

    def acked_within(self, seconds: float) -> bool:
        """Whether there were envelopes, each had exactly one ack, and none took longer."""
        ids = [each.envelope_id for each in self.acks]
        fine = all(each.latency <= seconds and not each.stray for each in self.acks)
        return bool(ids) and len(ids) == len(set(ids)) and fine and all(each.acked for each in self.deliveries)


class Server:
    def __init__(
        self, world: World, sockets: Sockets, apps: list[App], journal: Journal, without: Collection[str]
    ) -> None:
        self.faults = Faults()
        self.rates = Rates(world.clock)
        self.busy = 0
        self.last = time.monotonic()
        self._world = world
        self._sockets = sockets
        self._apps = apps
        self._journal = journal
        self._without = without
        self._over = asyncio.Event()

    def open(self, base: str, tell: Announcer) -> None:
        """Once the address is known."""
        self.base = base
        self.chat = Chat(self._world, tell, base)
        self.methods = Methods(self._world, tell, base)
        self.chat.keeps_metadata = self.methods.keeps_metadata = "metadata" not in self._without
        chat = self.chat
        self._table: dict[str, Callable[[App, Json], Json]] = {
            **self.methods.table(),
            "api.test": lambda app, arguments: {"ok": True},
            "apps.connections.open": lambda app, arguments: {"ok": True, "url": self._sockets.new_url(app)},
            "chat.postMessage": chat.post_message,
            "chat.postEphemeral": chat.post_ephemeral,
            "chat.update": chat.update,
            "chat.delete": chat.delete,
            "chat.getPermalink": chat.get_permalink,
            "chat.startStream": chat.start_stream,
            "chat.appendStream": chat.append_stream,
            "chat.stopStream": chat.stop_stream,
        }

    def close(self) -> None:
        self._over.set()

    def routes(self, router: web.UrlDispatcher) -> None:
        router.add_route("*", "/api/{method}", self._api)
        router.add_get("/link/", self._sockets.serve)
        router.add_post("/upload/v1/{token}", self._upload)
        router.add_get(r"/files-pri/{team}-{file}/{name:.*}", self._download)
        router.add_get("/elsewhere/{name}", self._elsewhere)
        router.add_post("/hooks/{id}", self._response_url)

    # -- the Web API ------------------------------------------------------------------------------------------------

    async def _api(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        arguments, token = await _arguments(request, RULES[method].form_only if method in RULES else False)
        entry = Entry(method, arguments, time.monotonic())
        self._journal.entries.append(entry)
        self.busy += 1
        try:
            return await self._answer(request, entry, token)
        finally:
            self.busy -= 1
            self.last = time.monotonic()
            self._world.changed()

    async def _answer(self, request: web.Request, entry: Entry, token: str) -> web.StreamResponse:
        fault = self.faults.due(entry.method, entry.arguments)
        entry.fault = fault.kind if fault else ""
        if fault and (refusal := await self._instead(request, entry, fault)):
            return refusal
        app = next((each for each in self._apps if token and token in (each.bot_token, each.app_token)), None)
        headers = {}
        wait = 0
        try:
            if app:
                entry.app = app.id
                headers = {"X-OAuth-Scopes": ",".join(sorted(app.scopes))}
            allowed = self._let_in(app, token, entry)
            wait = self.rates.wait(allowed, entry.method, str(entry.arguments.get("channel", "")))
            answer = (
                {"ok": False, "error": "ratelimited"} if wait else self._table[entry.method](allowed, entry.arguments)
            )
        except Refused as refused:
            answer = {"ok": False, "error": refused.error, **refused.more}
        entry.answer, entry.status = answer, 429 if wait else 200
        if wait:
            headers["Retry-After"] = str(wait)
        if fault:
            await self._afterwards(request, entry, fault)
        return web.json_response(answer, status=entry.status, headers=headers)

    def _let_in(self, app: App | None, token: str, entry: Entry) -> App:
        if not token:
            raise Refused("not_authed")
        if app is None:
            raise Refused("invalid_auth")
        if app.revoked:
            raise Refused("token_revoked")
        if entry.method not in self._table or entry.method in self._without:
            raise Refused("unknown_method", req_method=entry.method)
        rule = RULES[entry.method]
        if (token == app.app_token) != (rule.token == "app"):
            raise Refused("not_allowed_token_type")
        if rule.token == "bot" and rule.scopes:
            place = entry.arguments.get("channel") or entry.arguments.get("channel_id")
            asked = rule.asks(self._world.channels.get(str(place or "")))
            if not app.scopes & set(asked):
                provided = ",".join(sorted(app.scopes))
                raise Refused("missing_scope", needed=",".join(asked), provided=provided)
        return app

    async def _instead(self, request: web.Request, entry: Entry, fault: Fault) -> web.StreamResponse | None:
        """What a fault that comes before anything is done answers; None for those that come after."""
        match fault.kind:
            case "status":
                entry.status = fault.status
                if fault.error:
                    entry.answer = {"ok": False, "error": fault.error}
                    headers = {"Retry-After": str(int(fault.seconds))}
                    return web.json_response(entry.answer, status=fault.status, headers=headers)
                return web.Response(status=fault.status, text="upstream error", content_type="text/plain")
            case "error":
                entry.status, entry.answer = 200, {"ok": False, "error": fault.error, **fault.more}
                return web.json_response(entry.answer)
            case "page":
                entry.status = fault.status
                page = "<html><body><h1>Something went wrong</h1></body></html>"
                return web.Response(status=fault.status, text=page, content_type="text/html")
            case "cut_before":
                return _cut(request)
            case "hang":
                await self._hang()
                return web.Response(status=500)
            case "held":
                await self._hold(fault, entry)
        return None

    async def _afterwards(self, request: web.Request, entry: Entry, fault: Fault) -> None:
        match fault.kind:
            case "cut_after":
                _cut(request)
            case "hang_after":
                await self._hang()
            case "held_after":
                await self._hold(fault, entry)
            case "slow":
                await asyncio.sleep(fault.seconds)

    async def _hold(self, fault: Fault, entry: Entry) -> None:
        assert fault.hold is not None
        fault.hold.arguments = entry.arguments
        fault.hold.reached.set()
        self.busy -= 1
        try:
            await fault.hold.released.wait()
        finally:
            self.busy += 1

    async def _hang(self) -> None:
        self.busy -= 1  # nobody is waited for who will not be answered
        try:
            await self._over.wait()
        finally:
            self.busy += 1

    # -- files ------------------------------------------------------------------------------------------------------

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        if request.content_type.startswith("multipart/"):
            part = await (await request.multipart()).next()
            content = bytes(await part.read()) if part is not None and hasattr(part, "read") else b""
        else:
            content = await request.read()
        wrong = self.methods.upload(request.match_info["token"], content)
        self._note(request, "upload", {"length": len(content)}, 400 if wrong else 200)
        if wrong:
            return web.Response(status=400, text=wrong)
        return web.Response(text=f"OK - {len(content)}")

    async def _download(self, request: web.Request) -> web.StreamResponse:
        file = self._world.files.get(request.match_info["file"])
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        app = next((each for each in self._apps if token == each.bot_token), None)
        known = app is not None and not app.revoked and "files:read" in app.scopes
        self._note(request, "download", {"file": request.match_info["file"], "authorized": known}, 200)
        if file is None or file.deleted or file.serves == "missing":
            return web.Response(status=404, text="File not found", content_type="text/html")
        if not known or file.serves == "login":
            return web.Response(text=_LOGIN, content_type="text/html")  # Slack does this, with 200
        return await self._serve(request, file)

    async def _serve(self, request: web.Request, file: File) -> web.StreamResponse:
        match file.serves:
            case "redirect":
                raise web.HTTPFound(file.redirect)
            case "hang":
                await self._over.wait()
            case "endless":
                response = web.StreamResponse(headers={"Content-Type": file.mimetype})
                await response.prepare(request)
                while not self._over.is_set():
                    try:
                        await response.write(b"x" * 65_536)
                    except ConnectionError:
                        break
                return response
            case "cut":
                response = web.StreamResponse(headers={"Content-Length": str(len(file.content) + 1)})
                await response.prepare(request)
                await response.write(file.content[: len(file.content) // 2])
                _cut(request)
                return response
        return web.Response(body=file.content, content_type=file.mimetype)

    async def _elsewhere(self, request: web.Request) -> web.StreamResponse:
        """Not Slack: where a redirect may lead, by another name of this machine. The journal tells who brought a
        token."""
        self._note(request, "elsewhere", {"authorization": "Authorization" in request.headers}, 200)
        return web.Response(body=b"from elsewhere", content_type="application/octet-stream")

    # -- response URLs ----------------------------------------------------------------------------------------------

    async def _response_url(self, request: web.Request) -> web.StreamResponse:
        given = self._world.response_urls.get(request.match_info["id"])
        try:
            body = await request.json()
        except ValueError:
            return web.json_response({"ok": False, "error": "invalid_payload"}, status=400)
        entry = self._note(request, "response_url", body, 200)
        fault = self.faults.due(entry.method, body)
        if fault and (refusal := await self._instead(request, entry, fault)):
            return refusal
        if given is None or self._world.clock.now() - given.made > 1_800:
            entry.status, entry.answer = 404, {"ok": False, "error": "expired_url"}
        elif given.uses >= 5:
            entry.status, entry.answer = 404, {"ok": False, "error": "used_url"}
        else:
            try:
                given.uses += 1
                entry.answer = self.respond(given.app, given.user, given.channel, given.message, body)
            except Refused as refused:
                entry.status, entry.answer = 400, {"ok": False, "error": refused.error, **refused.more}
        self._world.changed()
        return web.json_response(entry.answer, status=entry.status)

    def respond(self, app: str, user: str, channel: str, original: str, body: Json) -> Json:
        """A message that answers a gesture: ephemeral, in the channel, or in place of the original."""
        target = self._world.messages.get((channel, original))
        if body.get("delete_original"):
            if target:
                target.deleted = True
            return {"ok": True}
        if not body.get("text") and not body.get("blocks"):
            raise Refused("no_text")
        rules.check_message(body.get("blocks"), "")
        if len(str(body.get("text") or "")) > 40_000:
            raise Refused("msg_too_long")
        sender = next(each for each in self._apps if each.id == app)
        content: Json = {"text": str(body.get("text") or ""), "blocks": rules.with_ids(body.get("blocks") or [])}
        if body.get("replace_original") and target:
            target.history.append(target.shown)
            target.text, target.blocks = content["text"], content["blocks"]
            return {"ok": True}
        quiet = body.get("response_type", "ephemeral") == "ephemeral"
        owner = {"bot_id": sender.bot_id, "app_id": app, "thread": str(body.get("thread_ts") or "")}
        self._world.post(channel, sender.bot_user, ephemeral_to=user if quiet else "", **owner, **content)
        return {"ok": True}

    def _note(self, request: web.Request, method: str, arguments: Json, status: int) -> Entry:
        self._journal.entries.append(Entry(method, arguments, time.monotonic(), status=status))
        self.last = time.monotonic()
        return self._journal.entries[-1]


def _cut(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.close()
    return web.Response()


async def _arguments(request: web.Request, form_only: bool) -> tuple[Json, str]:
    """The arguments of a call, however they came, and its token."""
    found: Json = dict(request.query)
    if request.content_type == "application/json":
        if not form_only and request.can_read_body:
            try:
                body = await request.json()
            except ValueError:
                body = {}
            found |= body if isinstance(body, dict) else {}
    elif request.method == "POST":
        found |= {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
    for name in _JSON_FIELDS:
        if isinstance(found.get(name), str):
            try:
                found[name] = json.loads(found[name])
            except ValueError:
                continue  # the method says what is wrong with it
    token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
    beside = str(found.pop("token", ""))
    return found, token or beside
