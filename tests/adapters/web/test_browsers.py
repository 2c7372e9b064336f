"""What a browser is let in for, and what its pages may do: reliability.md R20. Against a real server."""

import base64
import hashlib
import re
import socket
from collections.abc import Iterator

import pytest

from adapters.web.browser import policy
from adapters.web.prose import html
from tests.adapters.service import Service
from tests.adapters.web.fresh import fresh_nicegui

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
        page = client.get("/", follow_redirects=True)
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
        assert client.get("/documents").json()["error"] == "token_needed"


def test_the_token_is_shown_once(guarded: Service) -> None:
    with guarded.client() as client:
        wrong = client.post("/app/login", data={"token": "<b>guess</b>"})
        assert wrong.status_code == 401 and "not the token" in wrong.text and "guess" not in wrong.text
        right = client.post("/app/login", data={"token": TOKEN})
        assert (right.status_code, right.headers["location"]) == (303, "/app/")
        cookie = right.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie and TOKEN not in cookie
        assert client.get("/app/kotae.css").status_code == 200
    with guarded.client(Cookie="kotae_session=" + "0" * 64) as client:
        assert client.get("/app/kotae.css").status_code == 401
    with guarded.client(Origin="https://evil.example") as client:
        assert client.post("/app/login", data={"token": TOKEN}).json()["error"] == "foreign_origin"


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
