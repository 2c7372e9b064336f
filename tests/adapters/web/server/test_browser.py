"""What a browser is let in for, and what its pages may do: reliability.md R20. Against a real server."""

import base64
import hashlib
import logging
import re
import socket
import time
from collections.abc import Iterator

import pytest
from nicegui import ui
from pydantic import SecretStr

from adapters.web.markdown import html
from adapters.web.server.browser import policy
from adapters.web.server.login import Door
from tests.adapters.service import Service
from tests.adapters.web.fresh import fresh_nicegui
from tests.adapters.web.sockets import open_page

TOKEN = "a-long-secret-of-a-team"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with fresh_nicegui(), Service(tmp_path_factory.mktemp("open") / "home", pages=True) as one:
        yield one


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("guarded") / "home", pages=True, token=TOKEN) as one:
        yield one


# -- the way in -----------------------------------------------------------------------------------------------------


def test_the_address_alone_leads_to_the_pages(service: Service) -> None:
    with service.client() as client:
        assert client.get("/").headers["location"] == "/app/"
        assert client.get("/app").headers["location"] == "/app/"
        page = client.get("/app/guide")
    assert page.status_code == 200 and "<html" in page.text


def test_a_choice_is_kept_and_leads_back_only_to_our_pages(service: Service) -> None:
    with service.client() as client:
        kept = client.get("/app/choose", params={"language": "ja", "back": "/app/search?q=1"})
        assert (kept.status_code, kept.headers["location"]) == (303, "/app/search?q=1")
        assert "kotae_language=ja" in kept.headers["set-cookie"] and "HttpOnly" in kept.headers["set-cookie"]
        assert 'lang="ja"' in client.get("/app/guide").text
        for back in ("//evil.example/", "https://evil.example/app/", "/app/\\evil.example", "/elsewhere", ""):
            assert client.get("/app/choose", params={"as": "ben", "back": back}).headers["location"] == "/app/"
        nobody = client.get("/app/choose", params={"as": "root", "language": "xx", "theme": "pink"})
        assert "set-cookie" not in nobody.headers


def test_no_other_site_makes_a_choice(service: Service) -> None:
    led = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    with service.client() as client:
        for path in ("/app/choose?as=ben", "/app/logout"):
            refused = client.get(path, headers=led)
            assert refused.status_code == 403 and "set-cookie" not in refused.headers
        assert client.get("/app/guide", headers=led).status_code == 200


def test_cookies_of_other_servers_on_this_machine_do_not_hide_ours(service: Service) -> None:
    with service.client(Cookie='other={"a": [1]}; kotae_language=ja') as client:
        assert '<html lang="ja"' in client.get("/app/guide").text


@pytest.mark.parametrize(("accepted", "language"), [("ja,en;q=0.8", "ja"), ("en-GB", "en-US"), ("fr, ja;q=0.2", "ja")])
def test_the_language_is_the_readers(service: Service, accepted: str, language: str) -> None:
    with service.client() as client:
        page = client.get("/app/guide", headers={"Accept-Language": accepted})
    assert f'<html lang="{language}"' in page.text


# -- the token ------------------------------------------------------------------------------------------------------


def test_without_the_token_a_browser_gets_a_form_and_nothing_else(guarded: Service) -> None:
    with guarded.client(**{"Accept-Language": "ja"}) as client:
        for path in ("/", "/app/", "/app/documents", "/app/_nicegui/3.0.0/static/nicegui.js", "/app/choose"):
            page = client.get(path)
            assert page.status_code == 401 and "KOTAE_WEB_TOKEN" in page.text and "トークン" in page.text
            assert "default-src 'none'" in page.headers["content-security-policy"]
            assert (
                page.headers["referrer-policy"] == "same-origin"
            )  # else a browser's form has no origin, and is refused
        assert client.get("/documents").json()["error"] == "token_needed"


def test_the_token_is_shown_once(guarded: Service) -> None:
    with guarded.client() as client:
        wrong = client.post("/app/login", data={"token": "<b>guess</b>"})
        assert wrong.status_code == 401 and 'role="alert"' in wrong.text and "guess" not in wrong.text
        right = client.post("/app/login", data={"token": TOKEN})
        assert (right.status_code, right.headers["location"]) == (303, "/app/")
        cookie = right.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=lax" in cookie and TOKEN not in cookie
        assert client.get("/app/kotae.css").status_code == 200
    with guarded.client(Cookie="kotae_session=" + "0" * 64) as client:
        assert client.get("/app/kotae.css").status_code == 401
    with guarded.client(Origin="https://evil.example") as client:
        assert client.post("/app/login", data={"token": TOKEN}).json()["error"] == "foreign_origin"


def test_who_logs_in_is_where_they_wanted_to_be(guarded: Service) -> None:
    with guarded.client() as client:
        asked = client.post("/app/choose?theme=dark", data={"token": TOKEN})
        assert (asked.status_code, asked.headers["location"]) == (303, "/app/choose?theme=dark")
        for form in ("/app/login", "/app/documents?collection=a"):  # that was open in another tab
            sent = client.post(form, data={"token": TOKEN})
            assert sent.status_code == 303 and sent.headers["location"] in ("/app/", form)
        left = client.get("/app/logout")
        assert 'kotae_session=""' in left.headers["set-cookie"]
        assert client.get("/app/kotae.css").status_code == 401
        again = client.post("/app/logout", data={"token": TOKEN})  # whose session had ended before they left
        assert again.headers["location"] == "/app/" and client.get("/app/kotae.css").status_code == 200


def test_a_page_with_a_slash_too_many_leads_to_the_page_by_the_same_way_it_was_reached(service: Service) -> None:
    """What is in front may have TLS, of which nothing is known here."""
    with service.client() as client:
        assert client.get("/app/documents/?sort=size").headers["location"] == "/app/documents?sort=size"


def test_a_session_that_began_with_tls_is_sent_with_tls_only(guarded: Service) -> None:
    host = guarded.url.removeprefix("http://")
    for scheme, secure in (("https", True), ("http", False)):  # a proxy has the certificate
        with guarded.client(Origin=f"{scheme}://{host}") as client:
            cookie = client.post("/app/login", data={"token": TOKEN}).headers["set-cookie"]
            assert ("Secure" in cookie) is secure


def test_a_session_ends_by_itself(guarded: Service) -> None:
    door = Door(SecretStr(TOKEN))
    for until, status in ((time.time() + 60, 200), (time.time() - 1, 401)):
        with guarded.client(Cookie=f"kotae_session={door._proof(int(until))}") as client:
            assert client.get("/app/kotae.css").status_code == status
    later = door._proof(int(time.time()) - 1).replace(".", "0.")  # its end cannot be moved
    with guarded.client(Cookie=f"kotae_session={later}") as client:
        assert client.get("/app/kotae.css").status_code == 401


# -- sockets --------------------------------------------------------------------------------------------------------


def _upgrade(service: Service, **headers: str) -> int:
    """The status of a handshake for a page's socket."""
    given = {
        "Host": f"127.0.0.1:{service.port}",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": base64.b64encode(b"0" * 16).decode(),
        "Sec-WebSocket-Version": "13",
        **headers,
    }
    path = given.pop("Path", "/app/_nicegui_ws/socket.io/?EIO=4&transport=websocket")
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        return int(connection.recv(64).split(b" ")[1])


def test_a_socket_opens_for_our_own_pages_only(service: Service, guarded: Service) -> None:
    with service.client() as client:
        client.get("/app/guide")  # the pages are loaded
    ours = f"http://127.0.0.1:{service.port}"
    assert _upgrade(service, Origin=ours) == 101
    assert _upgrade(service, Origin="https://evil.example") == 403
    assert _upgrade(service, Origin=ours, Host="evil.example") == 403
    assert _upgrade(service, Origin=ours, Path="/chat") == 403
    assert _upgrade(guarded, Origin=f"http://127.0.0.1:{guarded.port}") == 403


def test_a_name_that_was_made_to_lead_here_opens_no_socket(service: Service) -> None:
    assert _upgrade(service, Origin="http://evil.example", Host="evil.example") == 403


def test_no_other_site_reads_from_a_socket(service: Service) -> None:
    polling = "/app/_nicegui_ws/socket.io/?EIO=4&transport=polling"
    with service.client() as client:
        assert client.get(polling, headers={"Origin": "https://evil.example"}).status_code == 403
        assert client.get(polling, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
        own = client.get(polling, headers={"Origin": service.url})
    assert own.status_code == 200 and "access-control-allow-origin" not in own.headers


def test_a_long_japanese_text_goes_through_a_page_s_socket(service: Service) -> None:
    """As long as NiceGUI's own script lets it through: it counts signs, and the socket bytes."""
    with open_page(service) as (opened, page):
        opened.send(f'420["event", {{"client_id": "{page}", "id": 0, "args": ["{"港" * 999_000}"]}}]')
        opened.send(f'421["ack", {{"client_id": "{page}", "next_message_id": 0}}]')
        while not str(opened.recv(10)).startswith("431"):
            pass


def test_a_browser_writes_nothing_into_the_log(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    with open_page(service) as (opened, page):
        opened.send(f'420["log", {{"client_id": "{page}", "level": "error", "message": "canary"}}]')
        while not str(opened.recv(10)).startswith("430"):
            pass
        opened.send("4canary")  # what is no packet
        opened.send(f'421["ack", {{"client_id": "{page}", "next_message_id": 0}}]')
        while not str(opened.recv(10)).startswith("431"):
            pass
    assert "canary" not in caplog.text and not [one for one in caplog.records if one.name.startswith("engineio")]
    assert not logging.getLogger("engineio.server").handlers


# -- what pages may do ----------------------------------------------------------------------------------------------


def test_a_page_runs_its_own_scripts_and_no_others(service: Service) -> None:
    with service.client() as client:
        page = client.get("/app/guide")
    rules = dict(rule.split(" ", 1) for rule in page.headers["content-security-policy"].split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["frame-ancestors"] == "'none'"
    assert "unsafe-inline" not in rules["script-src"] and "http" not in rules["script-src"]
    scripts = [
        text
        for attributes, text in re.findall(r"<script([^>]*)>(.*?)</script>", page.text, re.S)
        if "src=" not in attributes
    ]
    assert scripts
    for text in scripts:
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in rules["script-src"]
    elsewhere = [url for url in re.findall(r'(?:src|href)="(https?:[^"]+)"', page.text) if "127.0.0.1" not in url]
    assert elsewhere == []


def test_what_all_pages_load_is_small_and_kept(service: Service) -> None:
    with service.client() as client:
        page = client.get("/app/metrics")
        code = set(re.findall(r'"(/app/_nicegui/[^"]+\.js)"', page.text))
        assert {kind for kind in ("static", "esm", "components") if any(f"/{kind}/" in path for path in code)} == {
            "static",
            "esm",
            "components",
        }
        for path in code:
            sent = client.get(path)
            assert (sent.status_code, sent.headers["cache-control"]) == (200, "public, max-age=3600")
            if len(sent.content) > 10_000:
                assert sent.headers["content-encoding"] == "gzip"
        assert page.headers["cache-control"] == "no-store" and "content-encoding" not in page.headers
        assert client.get("/app/_nicegui/3.0.0/esm/nope/index.js").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(("language", "words"), [("ja", "JavaScript と Cookie"), ("en", "JavaScript and cookies")])
def test_a_browser_without_scripts_is_told_so(service: Service, language: str, words: str) -> None:
    with service.client(**{"Accept-Language": language}) as client:
        (said,) = re.findall(r"<noscript>(.*?)</noscript>", client.get("/app/guide").text, re.S)
    assert words in said and "#esm-fallback" in said


def test_where_there_is_no_page_our_own_says_so(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    with service.client(**{"Accept-Language": "ja"}) as client:
        page = client.get("/app/nope?q=canary")
        assert page.status_code == 404 and "このページはありません" in page.text and "/metrics" in page.text
        assert "HTTPException" not in page.text and "script-src" in page.headers["content-security-policy"]
        assert client.get("/app/_nicegui/nope").json()["error"] == "not_found"
    assert "canary" not in caplog.text


def test_what_breaks_before_a_page_is_not_shown(service: Service) -> None:
    async def broken(app: object) -> None:
        @ui.page("/broken")
        def show() -> None:
            raise RuntimeError("canary")

    with service.client() as client:
        client.get("/app/guide")  # the pages are loaded
        service.do(broken)
        page = client.get("/app/broken")
    assert (page.status_code, page.json()["error"]) == (500, "unexpected") and "canary" not in page.text


def test_the_policy_takes_no_word_of_a_strange_host() -> None:
    assert "evil" not in policy(b"", "evil; script-src *")
    assert "ws://localhost:8080" in policy(b"", "localhost:8080")


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt&#58;alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "![a](https://elsewhere.example/pixel.png)",
    '<https://ok.example/"onmouseover=alert(1)>',
    '[a](https://ok.example/ "t\\" onclick=alert(1)")',
    "[a][b]\n\n[b]: javascript:alert(1)",
    '<a href="javascript:alert(1)">x</a>',
    "```html\n<script>alert(1)</script>\n```",
    "| a |\n|---|\n| <svg/onload=alert(1)> |",
]


@pytest.mark.parametrize("markdown", HOSTILE)
def test_what_a_document_says_does_nothing(markdown: str) -> None:
    shown = html(markdown)
    tags = re.findall(r"<[^>]+>", shown)
    bare = [re.sub(r'"[^"]*"', '""', tag) for tag in tags]  # what stands in a value is a value
    assert not any(re.search(r"<\s*(script|img|svg|iframe)|\son\w+\s*=", tag, re.I) for tag in bare), shown
    assert not any(re.search(r'href="(?!https://ok\.example|mailto:)', tag) for tag in tags), shown


def test_prose_is_formatted() -> None:
    shown = html("**bold** `code` [site](https://ok.example/)\n\n- one\n- two")
    assert "<strong>bold</strong>" in shown and "<code>code</code>" in shown and shown.count("<li>") == 2
    assert 'rel="noopener noreferrer nofollow"' in shown


def test_headings_stand_below_those_of_the_page() -> None:
    assert html("# One\n\n##### Five\n\nTwo\n---") == "<h3>One</h3>\n<h6>Five</h6>\n<h4>Two</h4>\n"
