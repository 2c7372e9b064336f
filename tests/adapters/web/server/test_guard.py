"""What the API does not let in: reliability.md R20. Against a real server, byte by byte where a client would be too
polite."""

import asyncio
import json
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import select, update
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

from adapters.web.api.errors import Problem, language_asked
from adapters.web.server import login
from adapters.web.server.guard import BODY_BYTES, UPLOAD_BYTES, Guard
from adapters.web.server.login import BEYOND_GUESSING, TRIES, TRY_SECONDS, Door
from adapters.web.server.sockets import listen, listen_in
from bot.errors import SettingsError
from bot.store.engine import change, connect, rows
from bot.store.link import ServerLink
from bot.store.rates import Rates
from bot.store.schema import rates
from tests.adapters.service import Service
from tests.fakes.qdrant import KEY, FakeQdrant

J = "application/json"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("guard") / "home") as one:
        yield one


@pytest.fixture
def client(service: Service) -> Iterator[httpx.Client]:
    with service.client() as one:
        yield one


# -- bad requests ---------------------------------------------------------------------------------------------------

DEEP = b'{"query": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
FORM = "multipart/form-data; boundary=b"
PART = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\n# A\r\n\r\nB.\r\n'
BAD: list[tuple[str, str, bytes, dict[str, str], int, str]] = [
    ("POST", "/chat", b"{", {"Content-Type": J}, 400, "not_json"),
    ("POST", "/chat", b"", {"Content-Type": J}, 400, "not_json"),
    ("POST", "/chat", b'{"query": "\xff"}', {"Content-Type": J}, 400, "not_json"),
    ("POST", "/chat", '{"query": "x"}'.encode("utf-16"), {"Content-Type": J}, 400, "not_json"),
    ("POST", "/chat", b'{"query": "\\ud800"}', {"Content-Type": J}, 400, "not_json"),
    ("POST", "/chat", DEEP, {"Content-Type": J}, 400, "not_json"),
    ("POST", "/chat", b"[]", {"Content-Type": J}, 422, "wrong_fields"),
    ("POST", "/chat", b"{}", {"Content-Type": J}, 422, "wrong_fields"),
    ("POST", "/chat", b'{"query": "  "}', {"Content-Type": J}, 422, "wrong_fields"),
    ("POST", "/chat", b'{"query": 1}', {"Content-Type": J}, 422, "wrong_fields"),
    ("POST", "/chat", b'{"query": "a\\u0000b"}', {"Content-Type": J}, 422, "wrong_fields"),
    ("POST", "/chat", b'{"query": "x", "model": "y"}', {"Content-Type": J}, 422, "wrong_fields"),
    ("POST", "/chat", b'{"query": "x", "session_id": "%s"}' % (b"s" * 81), {"Content-Type": J}, 422, "wrong_fields"),
    ("POST", "/chat", b'{"query": "%s"}' % (b"x" * 8001), {"Content-Type": J}, 422, "wrong_fields"),
    ("POST", "/chat", b'{"query": "x"}', {"Content-Type": "text/plain"}, 415, "wrong_content_type"),
    ("POST", "/chat", b'{"query": "x"}', {}, 415, "wrong_content_type"),
    ("POST", "/chat", b'{"query": "x"}', {"Content-Type": J + "; charset=shift_jis"}, 415, "wrong_content_type"),
    ("POST", "/chat", b"\x1f\x8b", {"Content-Type": J, "Content-Encoding": "gzip"}, 415, "wrong_content_type"),
    ("POST", "/chat", PART + b"--b--", {"Content-Type": FORM}, 415, "wrong_content_type"),
    ("POST", "/chat", b" " * (BODY_BYTES + 1), {"Content-Type": J}, 413, "too_large"),
    ("GET", "/chat", b"", {}, 405, "wrong_method"),
    ("PUT", "/documents", b"{}", {"Content-Type": J}, 405, "wrong_method"),
    ("TRACE", "/healthz", b"", {}, 405, "wrong_method"),
    ("POST", "/documents", b"no form", {"Content-Type": FORM}, 400, "not_a_form"),
    ("POST", "/documents", b"--b--", {"Content-Type": "multipart/form-data"}, 400, "not_a_form"),
    ("POST", "/documents", PART + PART + b"--b--", {"Content-Type": FORM}, 400, "not_a_form"),
    ("POST", "/documents", PART.replace(b'"file"', b'"fill"') + b"--b--", {"Content-Type": FORM}, 422, "wrong_fields"),
    ("POST", "/documents", b'{"name": "a", "text": "b", "scope": "all"}', {"Content-Type": J}, 422, "wrong_fields"),
    ("POST", "/documents", b'{"name": "a.md", "text": ""}', {"Content-Type": J}, 422, "refused"),
    ("GET", "/search", b"", {}, 422, "wrong_fields"),
    ("GET", "/search?query=%00", b"", {}, 422, "wrong_fields"),
    ("GET", "/search?query=x&mode=nope", b"", {}, 422, "wrong_fields"),
    ("GET", "/search?query=x&limit=101", b"", {}, 422, "wrong_fields"),
    ("GET", "/documents/%00", b"", {}, 404, "no_document"),
    ("GET", "/documents/..%2f..%2fkotae.db", b"", {}, 404, "not_found"),
    ("DELETE", "/documents/nope", b"", {}, 404, "no_document"),
    ("GET", "/nope", b"", {}, 404, "not_found"),
    ("GET", "/chat/", b"", {}, 404, "not_found"),
]


@pytest.mark.parametrize(
    ("method", "path", "content", "headers", "status", "error"),
    BAD,
    ids=[f"{n}-{bad[1][:20]}" for n, bad in enumerate(BAD)],
)
def test_bad_requests_are_told_what_is_wrong(
    client: httpx.Client,
    caplog: pytest.LogCaptureFixture,
    method: str,
    path: str,
    content: bytes,
    headers: dict[str, str],
    status: int,
    error: str,
) -> None:
    caplog.set_level(logging.INFO, "adapters.web")
    said: list[str] = []
    for language in ("en", "ja"):
        response = client.request(method, path, content=content, headers=headers | {"Accept-Language": language})
        assert (response.status_code, response.json()["error"]) == (status, error)
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.json().keys() == {"error", "message", "id"}
        (line,) = [one for one in caplog.records if getattr(one, "id", "") == response.json()["id"]]
        assert (getattr(line, "status", 0), line.levelno) == (status, logging.INFO)
        said.append(response.json()["message"])
        assert not any(internal in response.text for internal in ("Traceback", "pydantic", "sqlalchemy", "/home"))
    assert said[0] != said[1] and client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/search", "GET, HEAD"),
        ("/chat", "POST"),
        ("/documents", "GET, HEAD, POST"),
        ("/documents/1", "DELETE, GET, HEAD"),
    ],
)
def test_the_allowed_methods_are_named(client: httpx.Client, path: str, methods: str) -> None:
    assert client.put(path, headers={"Content-Type": J}).headers["allow"] == methods


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /healthz HTTP/1.1\r\n\r\n",  # no host
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET /healthz HTTP/1.0\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01",  # TLS
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 600_000 + b"\r\n\r\n",
        b"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    ],
)
def test_what_is_not_http_is_a_400(service: Service, sent: bytes) -> None:
    head, _, body = service.raw(sent).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400") and json.loads(body).keys() == {"error", "message", "id"}


def test_what_fails_inside_the_api_is_told_by_a_number_that_the_log_has(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> dict[str, bool]:
        raise RuntimeError("canary")

    with Service(tmp_path / "home", platforms=broken) as service, service.client() as far, service.commands() as local:
        for client in (far, local):
            for language, word in (("en", "number"), ("ja", "番号")):
                response = client.get("/readyz", headers={"Accept-Language": language})
                told = response.json()
                assert (response.status_code, told["error"]) == (500, "unexpected") and "canary" not in response.text
                assert word in told["message"] and told["id"] in told["message"]
                (line,) = [one for one in caplog.records if getattr(one, "id", "") == told["id"]]
                assert line.levelno == logging.ERROR and line.exc_info and "canary" in str(line.exc_info[1])


# -- how much -------------------------------------------------------------------------------------------------------


def test_a_body_is_counted_while_it_comes(service: Service) -> None:
    head = b"POST /documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n"
    lying = head % J.encode() + b"Transfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    assert b" 413 " in service.raw(lying + chunk * 17).split(b"\r\n")[0]
    announced = head % FORM.encode() + b"Content-Length: %d\r\n\r\n" % (UPLOAD_BYTES + 1)
    assert b" 413 " in service.raw(announced).split(b"\r\n")[0]  # before anything came


def test_a_file_may_be_longer_than_json(client: httpx.Client) -> None:
    words = " ".join(f"word{n}" for n in range(40))
    longer = ("# Long\n\n" + f"{words}\n" * (BODY_BYTES // len(words) + 1)).encode()
    added = client.post("/documents", files={"file": ("long.pdf", longer)})  # read as far as its kind
    assert (added.status_code, added.json()["error"]) == (422, "refused")


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    sent: list[Any] = []

    async def never() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    async def inside(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("it was let in")

    guard = Guard(inside, kinds={"/chat": (J,)}, language="ja", local=True, body_seconds=0.01)
    headers = [(b"content-type", J.encode()), (b"content-length", b"10")]
    await guard({"type": "http", "method": "POST", "path": "/chat", "headers": headers}, never, send)
    assert sent[0]["status"] == 408 and "秒以内" in json.loads(sent[1]["body"])["message"]


async def test_a_body_that_stands_still_is_given_up_before_its_time() -> None:
    sent: list[Any] = []
    parts = [{"type": "http.request", "body": b"{", "more_body": True}]

    async def halting() -> Any:
        return parts.pop() if parts else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    guard = Guard(let_in, kinds={"/chat": (J,)}, language="en", local=True, still_seconds=0.01)
    headers = [(b"content-type", J.encode()), (b"content-length", b"10")]
    scope = {"type": "http", "method": "POST", "path": "/chat", "headers": headers}
    await asyncio.wait_for(guard(scope, halting, send), 5)
    assert sent[0]["status"] == 408 and "did not come" in json.loads(sent[1]["body"])["message"]


async def test_uploads_that_do_not_come_keep_nobody_else_waiting() -> None:
    guard = Guard(let_in, kinds={"/documents": (J, "multipart/form-data")}, language="en", local=True)
    headers = [(b"content-type", FORM.encode())]
    scope = {"type": "http", "method": "POST", "path": "/documents", "headers": headers}
    waiting: asyncio.Queue[None] = asyncio.Queue()

    async def post(*bodies: bytes, whole: bool) -> list[Any]:
        sent: list[Any] = []
        left = [{"type": "http.request", "body": body, "more_body": True} for body in bodies]
        if whole:
            left[-1]["more_body"] = False

        async def receive() -> Any:
            if left:
                return left.pop(0)
            waiting.put_nowait(None)
            return await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        await guard(dict(scope), receive, send)
        return sent

    halves = [asyncio.create_task(post(PART, whole=False)) for _ in range(40)]
    try:
        async with asyncio.timeout(5):
            for _ in halves:
                await waiting.get()
        long = b"x" * (BODY_BYTES + 1)
        for bodies in ((PART,), (long, PART)):
            assert (await asyncio.wait_for(post(*bodies, whole=True), 5))[0]["status"] == 200
    finally:
        for half in halves:
            half.cancel()
        await asyncio.gather(*halves, return_exceptions=True)


async def test_what_breaks_inside_is_a_500_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    async def inside(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("canary")

    transport = httpx.ASGITransport(Guard(inside, kinds={}, language="en", local=True))
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        response = await client.get("/")
    assert response.status_code == 500 and response.json()["error"] == "unexpected" and "canary" not in response.text
    assert "canary" in caplog.text


# -- who ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "", "0.0.0.0"])
def test_another_host_is_refused(client: httpx.Client, host: str) -> None:
    response = client.get("/healthz", headers={"Host": host})
    assert (response.status_code, response.json()["error"]) == (400, "wrong_host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "127.0.0.1:8080", "[::1]:8080"])
def test_its_own_names_are_answered(client: httpx.Client, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


def test_pages_of_other_sites_change_nothing(service: Service, client: httpx.Client) -> None:
    question = {"query": "x"}
    for foreign in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{service.port + 1}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        for response in (
            client.post("/chat", json=question, headers=foreign),
            client.delete("/documents/x", headers=foreign),
        ):
            assert (response.status_code, response.json()["error"]) == (403, "foreign_origin")
    own = {"Origin": service.url, "Sec-Fetch-Site": "same-origin"}
    assert client.delete("/documents/x", headers=own).status_code == 404
    preflight = client.options(
        "/chat", headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    )
    read = client.get("/collections", headers={"Origin": "https://evil.example"})
    assert not any(name.startswith("access-control") for each in (preflight, read) for name in each.headers)


ELSEWHERE = {"Sec-Fetch-Site": "cross-site"}
FETCHED = ELSEWHERE | {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
FRAMED = ELSEWHERE | {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
LED = ELSEWHERE | {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


def test_pages_of_other_sites_lead_here_and_fetch_nothing(client: httpx.Client) -> None:
    search = "/search?query=x"
    for foreign in (FETCHED, FRAMED, FETCHED | {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}):
        response = client.get(search, headers=foreign)
        assert (response.status_code, response.json()["error"]) == (403, "foreign_origin")
    assert client.get(search, headers=LED).status_code == 200
    assert client.delete("/documents/x", headers=LED).status_code == 403


def test_the_homes_socket_asks_for_neither(service: Service) -> None:
    with service.commands(Host="evil.example", Origin="https://evil.example") as local:
        assert local.delete("/documents/x").status_code == 404
    assert (service.home / "kotae.sock").stat().st_mode & 0o777 == 0o600


def test_other_machines_need_a_token(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "kotae.example", "10.0.0.1"):
        with pytest.raises(SettingsError) as caught:
            listen(host, 0, token=None)
        assert "KOTAE_WEB_TOKEN" in caught.value.text("en") and "KOTAE_WEB_TOKEN" in caught.value.text("ja")
    with Service(tmp_path / "home", host="0.0.0.0", token="s3cret-canary-0123456789") as service:
        assert "canary" not in repr(service._address)
        with httpx.Client(base_url=f"http://127.0.0.1:{service.port}", trust_env=False) as client:
            for wrong in ({}, {"Authorization": "Bearer nope"}, {"Authorization": "Basic s3cret-canary-0123456789"}):
                refused = client.get("/collections", headers=wrong)
                assert (refused.status_code, refused.json()["error"]) == (401, "token_needed")
                assert refused.headers["www-authenticate"] == "Bearer" and "canary" not in refused.text
            assert client.get("/healthz").json() == {"status": "ok"}
            word = client.get("/readyz", headers={"Authorization": "Bearer nope"})
            assert (word.status_code, word.json()) == (200, {"status": "ready"})
            assert client.get("/metrics").status_code == client.post("/readyz/x").status_code == 401
            right = {"Authorization": "Bearer s3cret-canary-0123456789", "Host": "kotae.example"}
            parts = client.get("/readyz", headers=right).json()["parts"]
            assert parts == {"database": "ok", "store": "ok", "home": "ok", "embedder": "ok"}
            assert client.get("/collections", headers=right).status_code == 200
        with service.commands() as local:
            assert local.get("/collections").status_code == 200


TOKEN = "とても長い-token-0123456789"
FRONT = "https://kotae.example.com"


def test_a_proxy_that_gives_it_a_name_needs_a_token_too() -> None:
    with pytest.raises(SettingsError) as caught:
        listen("127.0.0.1", 0, token=None, front=FRONT)
    for language in ("en", "ja"):
        assert "KOTAE_WEB_TOKEN" in caught.value.text(language) and FRONT in caught.value.text(language)
    for one in listen("127.0.0.1", 0, token=None, front="http://localhost:9000").sockets:  # as of a tunnel of ssh
        one.close()


@pytest.mark.parametrize("host", ["kotae.example.com", "localhost:8080"])  # as some proxies leave it, as others set it
async def test_its_own_pages_are_known_by_the_name_that_a_proxy_gives_them(host: str) -> None:
    address = listen("127.0.0.1", 0, token=SecretStr(TOKEN), front=FRONT)
    for one in address.sockets:
        one.close()
    guard = Guard(let_in, kinds={}, language="en", hosts=address.hosts, front=address.front, token=address.token)
    async with asking(guard) as program:
        program.headers = httpx.Headers([*BEARER.raw, (b"Host", host.encode())])
        assert (await program.post("/chat", headers={"Origin": FRONT})).text == "in"
        for origin in ("https://evil.example", f"{FRONT}.evil.example", "null"):
            refused = await program.post("/chat", headers={"Origin": origin})
            assert refused.json()["error"] == "foreign_origin"
        assert (await program.get("/", headers={"Host": "evil.example"})).json()["error"] == "wrong_host"


@pytest.mark.parametrize(
    ("host", "front", "alone", "shared"),
    [
        ("127.0.0.1", None, "http://127.0.0.1:{port}", ""),
        ("0.0.0.0", None, "", ""),
        ("127.0.0.1", FRONT, FRONT, FRONT),
        ("0.0.0.0", FRONT, FRONT, FRONT),
    ],
)
def test_links_lead_to_where_people_reach_it_or_nowhere(host: str, front: str | None, alone: str, shared: str) -> None:
    address = listen(host, 0, token=SecretStr(TOKEN), front=front)
    assert address.links(shared=False) == alone.format(port=address.port)
    assert address.links(shared=True) == shared
    assert (front or address.url) in address.banner("en")
    for one in address.sockets:
        one.close()


BEARER = httpx.Headers({"Authorization": f"Bearer {TOKEN}"}, encoding="utf-8")


def asking(guard: Guard, address: str = "203.0.113.9") -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(guard, client=(address, 1)), base_url="http://localhost")


async def let_in(scope: Any, receive: Any, send: Any) -> None:
    await PlainTextResponse("in")(scope, receive, send)


async def test_a_token_that_is_set_is_asked_of_programs_for_reading_and_writing_also_on_loopback() -> None:
    guard = Guard(let_in, kinds={}, language="en", hosts=frozenset({"localhost"}), token=SecretStr(TOKEN))
    async with asking(guard, "127.0.0.1") as nobody, asking(guard, "127.0.0.1") as program:
        program.headers = BEARER
        for method, path in (("GET", "/documents"), ("POST", "/chat"), ("DELETE", "/documents/x")):
            refused = await nobody.request(method, path)
            assert (refused.status_code, refused.json()["error"]) == (401, "token_needed")
            assert (await program.request(method, path)).text == "in"
            foreign = await program.request(method, path, headers={"Origin": "https://evil.example"})
            assert foreign.json()["error"] == "foreign_origin"


async def test_what_needs_no_token_still_asks_for_the_host() -> None:
    given: dict[str, Any] = {"hosts": frozenset({"localhost"}), "token": SecretStr(TOKEN), "open_to_all": ["/readyz"]}
    async with asking(Guard(let_in, kinds={}, language="en", **given)) as nobody:
        assert (await nobody.get("/readyz")).text == "in"
        for headers, error in (({"Host": "evil.example"}, "wrong_host"), ({"Origin": "null"}, "foreign_origin")):
            assert (await nobody.get("/readyz", headers=headers)).json()["error"] == error


async def test_a_token_cannot_be_guessed_for_long() -> None:
    guard = Guard(let_in, kinds={}, language="en", token=SecretStr(TOKEN), pages="/app")
    async with asking(guard, "2001:db8::1") as one, asking(guard, "2001:db8::2") as same, asking(guard) as other:
        for number in range(TRIES // 2):
            assert (await one.get("/documents", headers={"Authorization": f"Bearer {number}"})).status_code == 401
            assert (await one.post("/app/", data={"token": str(number)})).status_code == 401
        for refused in (
            await same.get("/documents", headers=BEARER),
            await same.post("/app/", data={"token": TOKEN}),
        ):
            assert refused.status_code == 429 and "set-cookie" not in refused.headers
            assert "minute" in refused.text
        assert (await other.get("/documents", headers=BEARER)).text == "in"
        assert (await one.get("/documents")).status_code == 401  # who shows nothing does not guess


async def test_a_token_beyond_guessing_is_let_in_however_many_were_wrong() -> None:
    token, wrong = "k" * BEYOND_GUESSING, {"Authorization": "Bearer wrong"}
    guard = Guard(let_in, kinds={}, language="en", token=SecretStr(token), pages="/app")
    async with asking(guard) as proxy:
        tried = [(await proxy.get("/documents", headers=wrong)).status_code for _ in range(TRIES + 2)]
        assert tried == [401] * TRIES + [429] * 2
        assert (await proxy.get("/documents", headers={"Authorization": f"Bearer {token}"})).text == "in"
        assert (await proxy.get("/documents", headers=wrong)).status_code == 429
        assert (await proxy.post("/app/", data={"token": token})).status_code == 303


async def test_who_was_wrong_too_often_may_try_again_later() -> None:
    now = 0.0
    door = Door(SecretStr("right"), clock=lambda: now)
    scope = {"type": "http", "client": ("203.0.113.9", 1)}

    async def knows(token: str) -> bool:
        return await door.knows(scope, Headers({"authorization": f"Bearer {token}"}))

    for _ in range(TRIES):
        assert not await knows("wrong")
    with pytest.raises(Problem):
        await knows("right")
    now = TRY_SECONDS
    assert await knows("right")


async def test_a_token_cannot_be_guessed_at_one_process_after_the_other(
    tmp_path: Path, shared_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "A_MINUTE", 1)
    async with FakeQdrant() as index, AsyncExitStack() as stack:
        shared: dict[str, Any] = {"DATABASE_URL": shared_database, "QDRANT_URL": index.url, "QDRANT_API_KEY": KEY}
        services = [Service(tmp_path / name, token=TOKEN, pages=True, **shared) for name in ("one", "two")]
        for service in services:
            await asyncio.to_thread(service.__enter__)
            stack.push_async_callback(asyncio.to_thread, service.__exit__, None, None, None)
        one, two = [await stack.enter_async_context(httpx.AsyncClient(base_url=each.url)) for each in services]
        assert (await two.get("/documents", headers=BEARER)).status_code == 200
        for number in range(TRIES // 2):
            for client in (one, two):
                tried = await client.get("/documents", headers={"Authorization": f"Bearer {number}"})
                assert tried.status_code == 401
        for client in (one, two):  # neither has refused as much as it would by itself
            for refused in (
                await client.get("/documents", headers=BEARER),
                await client.post("/app/", data={"token": TOKEN}),
                await client.get("/documents", headers={"Authorization": "Bearer wrong"}),
            ):
                assert refused.status_code == 429 and "set-cookie" not in refused.headers
        engine = connect(shared_database)
        (row,) = await rows(engine, select(rates.c.name))
        assert "127.0.0.1" not in row.name and TOKEN not in row.name
        later = update(rates).values(full_at=datetime.now(UTC))
        await change(engine, lambda db: db.execute(later))
        assert (await one.get("/documents", headers=BEARER)).status_code == 200
        await engine.dispose()


async def test_without_the_database_a_process_counts_guesses_alone() -> None:
    engine = connect("postgresql+asyncpg://kotae@127.0.0.1:1/kotae", ServerLink(connect_seconds=1))
    guard = Guard(let_in, kinds={}, language="en", token=SecretStr(TOKEN), shared=Rates(engine))
    async with asking(guard) as client:
        assert (await client.get("/documents", headers=BEARER)).text == "in"
        for _ in range(TRIES):
            assert (await client.get("/documents", headers={"Authorization": "Bearer x"})).status_code == 401
        assert (await client.get("/documents", headers=BEARER)).status_code == 429
    await engine.dispose()


def test_an_address_that_cannot_be_had_is_a_sentence(service: Service) -> None:
    for host, port, named in (("127.0.0.1", service.port, str(service.port)), ("203.0.113.7", 0, "203.0.113.7")):
        with pytest.raises(SettingsError) as caught:
            listen(host, port, token=SecretStr("x"))
        assert named in caught.value.text("en") and len(caught.value.text("ja").splitlines()) == 1


def test_a_socket_left_by_the_dead_is_replaced_also_far_down(tmp_path: Path) -> None:
    home = tmp_path / ("a" * 60) / ("深" * 20)
    home.mkdir(parents=True)
    assert len(os.fsencode(home)) > 108
    listen_in(home).close()
    with closing(listen_in(home)) as one:
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)


@pytest.mark.parametrize(
    ("asked", "spoken"),
    [
        ("", "en"),
        ("ja", "ja"),
        ("ja-JP,en;q=0.8", "ja"),
        ("en-US,en;q=0.9,ja;q=0.8", "en"),
        ("ja;q=0", "en"),
        ("fr, ja;q=0.5", "ja"),
        ("ja;q=x, en;q=0.1", "en"),
    ],
)
def test_the_language_asked_for(asked: str, spoken: str) -> None:
    assert language_asked(asked, "en") == spoken
