"""The HTTP API over real connections: product.md §6, endpoint by endpoint."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from agent.conversation import Ask
from agent.events import Events
from bot.types import Upload
from tests.adapters.service import Service
from tests.bot.acting import ANSWER, says
from tests.bot.cli.test_commands import check

HARBOUR = "---\nupdated: 2026-04-01\n---\n# Harbour\n\nShips moor at pier seven until midnight. The harbour master is Ms Kawabata.\n"
PRIVATE = "place:slack:T1:C9"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("web") / "home", KOTAE_MIN_RELEVANCE=0.1) as one:
        with one.client() as client:
            added = client.post("/documents", json={"name": "harbour.md", "text": HARBOUR, "collection": "port"})
            assert added.status_code == 201
        secret = Upload("secret.md", b"# Secret\n\nThe vault code of the harbour is 4711.\n", "vault", PRIVATE, "U1")
        one.do(lambda app: app.knowledge.add(secret, "en"))
        yield one


@pytest.fixture
def client(service: Service) -> Iterator[httpx.Client]:
    with service.client() as one:
        yield one


def events(response: httpx.Response) -> list[dict[str, Any]]:
    blocks = response.text.strip().split("\n\n")
    return [json.loads(block.removeprefix("data: ")) for block in blocks if block.startswith("data: ")]


# -- asking ---------------------------------------------------------------------------------------------------------


def test_a_question_gets_its_answer_with_sources(client: httpx.Client) -> None:
    found = client.post("/chat", json={"query": "When do ships moor at pier seven?"}).json()
    assert found.keys() == {"answer", "outcome", "unsure", "session_id", "sources"} and found["outcome"] == "answered"
    assert "until midnight" in found["answer"]
    (source,) = found["sources"]
    assert source == {
        "n": 1,
        "document": "harbour.md",
        "collection": "port",
        "excerpt": source["excerpt"],
        "url": None,
        "date": "2026-04-01",
    }
    assert source["excerpt"] == "Ships moor at pier seven…"  # the answer has it whole


def test_what_nobody_knows_is_a_miss_and_private_documents_are_not_read(client: httpx.Client) -> None:
    question = "Which penguin won the Eurovision Song Contest in the vault?"
    found = client.post("/chat", json={"query": question}).json()
    assert "4711" not in found["answer"] and found["outcome"] != "answered"
    misses = client.get("/unanswered").json()
    assert question in [one["question"] for one in misses["questions"]]
    assert misses["total"] == len(misses["questions"]) + misses["hidden"]


def test_a_session_is_a_conversation_of_its_own(client: httpx.Client) -> None:
    first = client.post("/chat", json={"query": "Who is the harbour master?"}).json()
    again = client.post(
        "/chat", json={"query": "Until when do ships moor?", "session_id": first["session_id"], "collections": ["port"]}
    ).json()
    assert again["session_id"] == first["session_id"]
    other = client.post("/chat", json={"query": "Who is the harbour master?"}).json()
    assert other["session_id"] != first["session_id"]


def test_the_conversation_is_told_to_the_agent(tmp_path: Path) -> None:
    asked: list[Ask] = []

    async def second(ask: Ask) -> Events:
        asked.append(ask)
        yield ANSWER

    with Service(tmp_path / "home", says(ANSWER), second, says(ANSWER)) as service, service.client() as client:
        for session in ("会議", "会議", "x"):
            found = client.post("/chat", json={"query": "経費の締切は？", "session_id": session}).json()
            assert found["session_id"] == session and found["answer"] == ANSWER.text
    (ask,) = asked
    assert [one.answer for one in ask.history] == [ANSWER.text]


def test_events_are_those_of_kotae_ask(client: httpx.Client) -> None:
    question = {"query": "When do ships moor at pier seven?", "session_id": "s-1"}
    response = client.post("/chat", json=question, headers={"Accept": "text/event-stream"})
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["x-session-id"] == "s-1"
    assert check(events(response))["outcome"] == "answered"
    assert events(response)[0]["type"] == "thought"


@pytest.mark.parametrize(
    ("session", "told"),
    [
        (" s ", "%20s%20"),
        ("50% off", "50%25%20off"),
        ("会議", "%E4%BC%9A%E8%AD%B0"),
        ("a\r\nSet-Cookie: x", "a%0D%0ASet-Cookie:%20x"),
        ("-", "-"),
        ("user:7/(a)", "user:7/(a)"),
    ],
)
def test_the_header_has_any_session(client: httpx.Client, session: str, told: str) -> None:
    question = {"query": "Hello!", "session_id": session}
    for accept in ("application/json", "text/event-stream"):
        response = client.post("/chat", json=question, headers={"Accept": accept})
        assert response.status_code == 200 and response.headers["x-session-id"] == told
    assert client.post("/chat", json=question).json()["session_id"] == unquote(told) == session


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("Text/Event-Stream", "text/event-stream"),
        ("application/json, text/event-stream", "text/event-stream"),
        ("application/json, text/event-stream; q=0.5", "application/json"),
        ("text/event-stream; charset=utf-8; q=0", "application/json"),
        ("*/*", "application/json"),
    ],
)
def test_events_are_for_who_would_rather_have_them(client: httpx.Client, accept: str, kind: str) -> None:
    response = client.post("/chat", json={"query": "Hello!"}, headers={"Accept": accept})
    assert response.headers["content-type"].partition(";")[0] == kind


def test_what_is_not_offered_is_refused_before_it_is_asked(client: httpx.Client) -> None:
    nowhere = client.post("/chat", json={"query": "x", "collections": ["nope"]}, headers={"Accept-Language": "ja-JP"})
    assert (nowhere.status_code, nowhere.json()["error"]) == (404, "collection_not_found")
    assert "コレクション「nope」" in nowhere.json()["message"] and "vault" not in nowhere.json()["message"]
    assert client.post("/chat", json={"query": "x", "strategy": "nope"}).json()["error"] == "wrong_fields"


# -- searching ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [None, "sparse", "dense", "hybrid"])
def test_search(client: httpx.Client, mode: str | None) -> None:
    wanted = {"query": "pier seven", "limit": "1"} | ({"mode": mode} if mode else {})
    found = client.get("/search", params=wanted).json()
    (hit,) = found["results"] or found["rejected"]
    assert hit["document"] == "harbour.md" and 0 <= hit["relevance"] <= 1
    assert ("dense" in hit["scores"]) == (mode in ("dense", "hybrid"))  # keywords by default


def test_a_part_of_the_request_is_called_as_whoever_asks_calls_it(client: httpx.Client) -> None:
    for params, names in (({"limit": "0"}, "query, limit"), ({"query": "x", "mode": "y", "limit": "x"}, "mode, limit")):
        assert client.get("/search", params=params).json()["message"].endswith(f": {names}.")


def test_a_search_reads_what_the_team_may_read(client: httpx.Client) -> None:
    found = client.get("/search", params={"query": "vault code harbour", "collection": ["port"]})
    assert found.status_code == 200 and "4711" not in found.text
    assert "4711" not in client.get("/search?query=vault+code+4711&mode=hybrid").text
    assert client.get("/search?query=x&collection=vault").status_code == 404


# -- documents ------------------------------------------------------------------------------------------------------


def test_a_document_comes_changes_and_goes(client: httpx.Client) -> None:
    def add(text: str) -> httpx.Response:
        return client.post("/documents", json={"name": "灯台", "text": text, "collection": "c1"})

    first = add("# 灯台\n\n点検は毎月10日です。\n")
    assert first.status_code == 201
    assert first.json() == {
        "id": first.json()["id"],
        "name": "灯台.md",
        "collection": "c1",
        "chunks": 1,
        "status": "added",
    }
    same, changed = add("# 灯台\n\n点検は毎月10日です。\n"), add("# 灯台\n\n点検は毎月20日です。\n")
    assert (same.status_code, same.json()["status"]) == (200, "unchanged")
    assert (changed.status_code, changed.json()["status"]) == (200, "replaced")
    where = f"/documents/{first.json()['id']}"
    assert client.get(where).json()["scope"] == "team" and client.get(where).json()["language"] == "ja"
    listed = client.get("/documents?collection=c1").json()["documents"]
    assert [one["id"] for one in listed] == [first.json()["id"]]
    assert "c1" in [one["name"] for one in client.get("/collections").json()["collections"]]
    gone = client.delete(where)
    assert (gone.status_code, gone.content) == (204, b"")
    assert client.get(where).status_code == client.delete(where).status_code == 404
    assert client.get("/search", params={"query": "点検は毎月20日", "collection": "c1"}).json()["results"] == []


def test_a_file_in_a_form(client: httpx.Client) -> None:
    content = "質問,回答\n灯台の色は？,白です。\n".encode("cp932")
    form = {"collection": "c2", "scope": "everyone"}
    added = client.post("/documents", files={"file": ("資料/よくある質問.csv", io.BytesIO(content))}, data=form)
    assert added.status_code == 201, added.text
    assert added.json()["name"] == "よくある質問.csv" and added.json()["collection"] == "c2"
    assert client.get(f"/documents/{added.json()['id']}").json()["scope"] == "everyone"
    assert client.get("/search", params={"query": "灯台の色は？"}).json()["results"][0]["question"] == "灯台の色は？"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("議事録 2026.11.26", "議事録 2026.11.26.md"),
        ("v1.2 notes", "v1.2 notes.md"),
        ("Node.js", "Node.js.md"),
        ("notes.TXT", "notes.TXT"),
        ("a/b.md", "a/b.md"),
        (".env", ".env.md"),
        ("mail.eml", None),
        ("a/", None),
        ("  .txt ", None),
    ],
)
def test_a_text_is_markdown_unless_its_name_ends_as_files_do(client: httpx.Client, name: str, kept: str | None) -> None:
    added = client.post("/documents", json={"name": name, "text": f"# {name}\n\nA text.", "collection": "named"})
    if kept is None:
        assert (added.status_code, added.json()["error"]) == (422, "refused")
        assert ("no name" in added.json()["message"]) == (name != "mail.eml")
    else:
        assert added.json()["name"] == kept, added.text


@pytest.mark.parametrize(
    ("text", "status", "name"),
    [
        ("# 灯台\r\n\n白い。", 201, "灯台.md"),
        ("A/B is due. No more.", 201, "A／B is due. No more.md"),
        (" \n", 422, None),
    ],
)
def test_a_text_without_a_name_is_named_by_its_first_line(
    client: httpx.Client, text: str, status: int, name: str | None
) -> None:
    added = client.post("/documents", json={"text": text, "collection": "unnamed"})
    assert (added.status_code, added.json().get("name")) == (status, name), added.text


@pytest.mark.parametrize(
    "kind", ["multipart/form-data; boundary=b", 'Multipart/Form-Data; boundary="b"; charset=UTF-8']
)
def test_what_in_a_form_is_not_utf_8_is_refused(client: httpx.Client, kind: str) -> None:
    def add(name: bytes, collection: bytes) -> httpx.Response:
        parts = (b'file"; filename="%s' % name, b"# A\n\nA text."), (b"collection", collection)
        form = b"".join(b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % part for part in parts)
        return client.post("/documents", content=form + b"--b--\r\n", headers={"Content-Type": kind})

    for name, collection in ((b"a.md", b"\xff\xfe"), ("一覧表.md".encode("cp932"), b"c3")):
        refused = add(name, collection)
        assert (refused.status_code, refused.json()["error"]) == (400, "not_a_form")
        assert "UTF-8" in refused.json()["message"]
    added = add("一覧表é.md".encode(), "表é".encode()).json()
    assert (added["name"], added["collection"]) == ("一覧表é.md", "表é")


def test_a_private_document_is_neither_replaced_nor_added(service: Service, client: httpx.Client) -> None:
    def kept() -> list[tuple[str, str]]:
        rows = service.do(lambda app: app.data.documents.listed())
        return sorted((row.name, row.hash) for row in rows if row.scope == PRIVATE)

    before = kept()
    assert [name for name, _ in before] == ["secret.md"]
    for name in ("secret.md", "new.md"):
        about = {"collection": "vault", "scope": PRIVATE}
        text = client.post("/documents", json={"name": name, "text": "# Secret\n\nOther words.", **about})
        form = client.post("/documents", files={"file": (name, io.BytesIO(b"# Secret\n\nOther words."))}, data=about)
        for response in (text, form):
            assert (response.status_code, response.json()["error"]) == (422, "wrong_fields")
            assert "scope" in response.json()["message"]
    assert kept() == before


def test_a_refusal_is_in_the_askers_language(client: httpx.Client) -> None:
    def add(**headers: str) -> httpx.Response:
        return client.post("/documents", files={"file": ("mail.eml", b"Subject: no")}, headers=headers)

    english, japanese = add(), add(**{"Accept-Language": "fr, ja;q=0.9, en;q=0.1"})
    assert english.status_code == japanese.status_code == 422
    assert english.json()["error"] == japanese.json()["error"] == "refused"
    assert english.json()["message"].isascii() and not japanese.json()["message"].isascii()
    name = client.post("/documents", json={"name": "a.md", "text": "# A\n\nB.", "collection": "a,b"})
    assert (name.status_code, name.json()["error"]) == (422, "refused")


def test_private_documents_are_not_there(service: Service, client: httpx.Client) -> None:
    (row,) = service.do(lambda app: app.data.documents.listed(collection="vault"))
    assert client.get(f"/documents/{row.id}").status_code == client.delete(f"/documents/{row.id}").status_code == 404
    assert "secret" not in client.get("/documents").text and "vault" not in client.get("/collections").text
    assert service.do(lambda app: app.data.documents.get(row.id)) is not None


# -- how it is ------------------------------------------------------------------------------------------------------


def test_it_says_how_it_is(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {
        "status": "ready",
        "parts": {"database": "ok", "store": "ok", "home": "ok", "embedder": "ok"},
        "why": {},
    }


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/documents", "/collections", "/search?query=x"])
def test_head_is_get_without_its_body(client: httpx.Client, path: str) -> None:
    """RFC 9110 §9.1 and §9.3.2: whatever takes GET takes HEAD; balancers and watchers ask that way."""
    asked, told = client.head(path), client.get(path)
    assert (asked.status_code, asked.content) == (200, b"") and told.content
    assert asked.headers["content-type"] == told.headers["content-type"]


def test_what_cannot_be_stored_now_is_an_outage_and_no_refusal(client: httpx.Client, service: Service) -> None:
    """A program tries that again, and gives up what is refused."""
    database = service.home / "kotae.db"
    database.rename(aside := database.with_name("aside.db"))
    try:
        away = client.post("/documents", json={"name": "new.md", "text": "# New\n\nA new page.", "collection": "port"})
    finally:
        aside.rename(database)
    assert (away.status_code, away.json()["error"]) == (503, "database_unavailable")
    assert "Put it back" in away.json()["message"]
    again = client.post("/documents", json={"name": "new.md", "text": "# New\n\nA new page.", "collection": "port"})
    assert again.status_code == 201
    assert client.delete(f"/documents/{again.json()['id']}").status_code == 204


def test_head_is_refused_where_get_is(client: httpx.Client) -> None:
    assert client.head("/chat").status_code == 405 and client.head("/documents/nope").status_code == 404


def test_metrics_have_bounded_labels(client: httpx.Client) -> None:
    client.get("/search?query=pier")
    before = client.get("/metrics")
    assert before.headers["content-type"].startswith("text/plain")
    client.post("/chat", json={"query": "When do ships moor at pier seven?", "session_id": "canary-session"})
    after = client.get("/metrics")
    assert "canary" not in after.text and 'kotae_turns{outcome="answered"}' in after.text

    def series(response: httpx.Response) -> dict[str, float]:
        lines = [line for line in response.text.splitlines() if not line.startswith("#")]
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}

    answered = 'kotae_turns{outcome="answered"}'
    assert series(after)[answered] - series(before)[answered] == 1 and series(after).keys() == series(before).keys()
    assert series(after)['kotae_part_up{part="database"}'] == series(after)['kotae_part_up{part="store"}'] == 1
    assert " counter" not in after.text  # what is kept grows less, too
    assert 0 <= series(after)["kotae_loop_lag_seconds"] < 60


def test_the_description_names_every_endpoint_and_no_command(service: Service, client: httpx.Client) -> None:
    whole = client.get("/openapi.json").json()
    assert whole["components"]["securitySchemes"]["token"]["scheme"] == "bearer" and {"token": []} in whole["security"]
    assert "HTTPValidationError" not in whole["components"]["schemas"]  # a refusal is always a ProblemBody
    described = whole["paths"]
    assert described.keys() == {
        *("/chat", "/search", "/documents", "/documents/{document_id}", "/collections", "/unanswered"),
        *("/healthz", "/readyz", "/metrics"),
    }
    with service.commands() as local:
        assert local.get("/openapi.json").json()["paths"].keys() == described.keys()
        assert local.get("/search?query=pier").status_code == 200
    assert client.post("/commands/collections", json={}).status_code == 404
