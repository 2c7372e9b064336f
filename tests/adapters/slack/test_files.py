"""Files are fetched from Slack and nowhere else, the token goes nowhere else, and no sign-in page is taken for one."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from yarl import URL

from adapters.slack import files
from adapters.slack.files import download
from adapters.slack.transport.api import SlackApi
from adapters.slack.transport.response_url import API, Addresses
from retrieval.types import UnreadableError
from tests.adapters.slack.clocks import Time, connected
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import SCOPES, error, status
from tests.fakes.slack_world import File

Json = dict[str, Any]
LIMIT = 1_000_000


class Foreign:
    """A server that is not Slack's, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str | None] = []
        self.url = ""

    async def serve(self, request: web.Request) -> web.Response:
        self.asked.append(request.headers.get("Authorization"))
        return web.Response(text="gotcha")


@pytest.fixture
async def foreign() -> AsyncIterator[Foreign]:
    foreign, app = Foreign(), web.Application()
    app.router.add_route("*", "/{any:.*}", foreign.serve)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    foreign.url = f"http://127.0.0.1:{runner.addresses[0][1]}/file.md"
    yield foreign
    await runner.cleanup()


@pytest.fixture
async def fake() -> AsyncIterator[FakeSlack]:
    async with FakeSlack(scale=0) as fake:
        yield fake


@pytest.fixture
async def slack(fake: FakeSlack) -> AsyncIterator[SlackApi]:
    async with connected(fake) as slack:
        yield slack


def put(fake: FakeSlack, name: str = "refunds.md", content: bytes = b"# Refunds\n", **more: Any) -> File:
    return fake.world.add_file(name, content, "U1", **{"mimetype": "text/markdown"} | more)


def described(fake: FakeSlack, file: File) -> Json:
    return fake.world.file_json(file, fake.url)


async def refusal(slack: SlackApi, file: Json, *, limit: int = LIMIT, seconds: float = 5.0) -> str:
    with pytest.raises(UnreadableError) as raised:
        await download(slack, file, limit, seconds=seconds)
    assert raised.value.text("ja") != raised.value.text("en")
    return raised.value.text("en")


@pytest.mark.parametrize("claimed", [None, 0, 1, 10**12])
async def test_a_file_is_fetched_whatever_size_it_claims(slack: SlackApi, fake: FakeSlack, claimed: int | None) -> None:
    content = "返金は30日以内です。".encode() * 5_000
    assert await download(slack, described(fake, put(fake, content=content, claimed=claimed)), LIMIT) == content


async def test_an_id_is_enough(slack: SlackApi, fake: FakeSlack) -> None:
    file = put(fake)
    assert await download(slack, {"id": file.id}, LIMIT) == file.content
    shared = {"id": file.id, "mode": "file_access", "file_access": "check_file_info"}  # from another workspace
    assert await download(slack, shared, LIMIT) == file.content


async def test_a_web_page_that_was_uploaded_is_a_file(slack: SlackApi, fake: FakeSlack) -> None:
    page = b"<!DOCTYPE html><html><title>Refunds</title></html>"
    file = put(fake, "refunds.html", page, mimetype="text/html")
    assert await download(slack, described(fake, file), LIMIT) == page


@pytest.mark.parametrize("name", ["refunds.md", "refunds.html"])
async def test_the_sign_in_page_is_not_the_file(slack: SlackApi, fake: FakeSlack, name: str) -> None:
    file = put(fake, name, mimetype="text/html" if name.endswith("html") else "text/markdown", serves="login")
    assert "sign-in page" in await refusal(slack, described(fake, file))


async def test_a_page_under_another_content_type_is_noticed(slack: SlackApi, fake: FakeSlack) -> None:
    file = put(fake, content=b"\n <HTML><body>Sign in</body></html>")
    assert "web page" in await refusal(slack, described(fake, file))


async def test_a_content_type_is_enough(slack: SlackApi, fake: FakeSlack) -> None:
    file = put(fake, content=b"Sign in", mimetype="text/html")
    assert "web page" in await refusal(slack, described(fake, file) | {"mimetype": "text/markdown"})


async def test_without_the_scope_it_says_so() -> None:
    async with FakeSlack(scale=0, scopes=SCOPES - {"files:read"}) as fake, connected(fake) as slack:
        file = put(fake)
        assert "files:read" in await refusal(slack, described(fake, file))
        assert "files:read" in await refusal(slack, {"id": file.id})
        assert not fake.journal.calls("download")


async def test_a_scope_that_was_taken_away_meanwhile(slack: SlackApi, fake: FakeSlack) -> None:
    fake.app.scopes.discard("files:read")
    assert "sign-in page" in await refusal(slack, described(fake, put(fake)))
    assert "files:read" in await refusal(slack, {"id": put(fake).id})


# -- where the token goes -------------------------------------------------------------------------------------------


async def test_another_server_is_not_asked(slack: SlackApi, fake: FakeSlack, foreign: Foreign) -> None:
    file = described(fake, put(fake)) | {"url_private_download": foreign.url}
    assert "away from Slack" in await refusal(slack, file)
    redirected = described(fake, put(fake, serves="redirect", redirect=foreign.url))
    assert "away from Slack" in await refusal(slack, redirected)
    assert foreign.asked == []


async def test_another_server_gets_no_token(slack: SlackApi, foreign: Foreign) -> None:
    async with slack.get(URL(foreign.url)) as response:
        assert response.status == 200
    assert foreign.asked == [None]


@pytest.mark.parametrize(
    "address", ["", "file:///etc/passwd", "//example.com/x", "http://[", "ftp://files.slack.com/x"]
)
async def test_an_address_that_is_none(slack: SlackApi, fake: FakeSlack, address: str) -> None:
    redirected = put(fake, serves="redirect", redirect=address)
    assert await refusal(slack, described(fake, redirected))
    assert len(fake.journal.calls("download")) <= files.REDIRECTS + 1


async def test_redirects_within_slack_are_followed_for_a_while(slack: SlackApi, fake: FakeSlack) -> None:
    there = put(fake)
    once = put(fake, serves="redirect", redirect=described(fake, there)["url_private"])
    assert await download(slack, described(fake, once), LIMIT) == there.content
    circle = put(fake, serves="redirect")
    circle.redirect = described(fake, circle)["url_private"]
    fake.journal.entries.clear()
    assert "redirects" in await refusal(slack, described(fake, circle))
    assert len(fake.journal.calls("download")) == 4


async def test_a_redirect_to_a_page_is_a_redirect_to_the_sign_in(slack: SlackApi, fake: FakeSlack) -> None:
    page = put(fake, "page.html", b"<html>Welcome</html>", mimetype="text/html")
    file = put(fake, "refunds.html", serves="redirect", redirect=described(fake, page)["url_private"])
    assert "sign-in page" in await refusal(slack, described(fake, file))


@pytest.mark.parametrize(
    ("url", "token", "slacks"),
    [
        ("https://files.slack.com/files-pri/T1-F1/a.md", True, True),
        ("https://acme.slack.com/files", True, True),
        ("https://FILES.SLACK.COM/x", True, True),
        ("https://slack.com/x", True, True),
        ("https://slack-files.com/x", False, True),
        ("https://a.slack-edge.com/x", False, True),
        ("http://files.slack.com/x", False, False),
        ("https://files.slack.com.example.com/x", False, False),
        ("https://notslack.com/x", False, False),
        ("https://files.slack.com@example.com/x", False, False),
        ("https://example.com/#@files.slack.com", False, False),
        ("https://example.com/files.slack.com", False, False),
        ("/files-pri/T1-F1/a.md", False, False),
    ],
)
def test_whose_addresses_are_slacks(url: str, token: bool, slacks: bool) -> None:
    for addresses in (Addresses(API), Addresses("http://127.0.0.1:8080/api/")):
        assert addresses.gets_token(URL(url)) is token
        assert addresses.is_slack(URL(url)) is slacks


@pytest.mark.parametrize(
    ("url", "token"),
    [
        ("http://127.0.0.1:8080/files-pri/x", True),
        ("http://127.0.0.1:8081/files-pri/x", False),
        ("https://127.0.0.1:8080/files-pri/x", False),
        ("http://localhost:8080/files-pri/x", False),
    ],
)
def test_the_server_in_slacks_place_is_known_by_its_whole_origin(url: str, token: bool) -> None:
    assert Addresses("http://127.0.0.1:8080/api/").gets_token(URL(url)) is token


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("https://hooks.slack.com/actions/T1/1/x", True),
        ("http://127.0.0.1:8080/hooks/1", True),
        ("https://files.slack.com/actions", False),
        ("https://hooks.example.com/actions", False),
        ("http://hooks.slack.com/actions", False),
    ],
)
def test_which_addresses_take_responses(url: str, taken: bool) -> None:
    assert Addresses("http://127.0.0.1:8080/api/").takes_responses(URL(url)) is taken


# -- what goes wrong ------------------------------------------------------------------------------------------------


async def test_nothing_over_the_limit_is_kept(slack: SlackApi, fake: FakeSlack) -> None:
    assert "larger than" in await refusal(slack, described(fake, put(fake, serves="endless", claimed=5)))
    file = put(fake, content=b"x" * 100)
    assert await download(slack, described(fake, file), 100) == file.content
    assert "larger than" in await refusal(slack, described(fake, file), limit=99)


async def test_silence_has_an_end(slack: SlackApi, fake: FakeSlack) -> None:
    assert "within" in await refusal(slack, described(fake, put(fake, serves="hang")), seconds=0.1)


async def test_half_a_file_is_none(fake: FakeSlack) -> None:
    time = Time(fake)
    async with connected(fake, time) as slack:
        file = put(fake, content=b"x" * 5_000, serves="cut")
        assert "could not be fetched" in await refusal(slack, described(fake, file))
    assert len(fake.journal.calls("download")) == 3
    assert len(time.waits) == 2


async def test_a_file_that_comes_at_the_second_try(fake: FakeSlack) -> None:
    file = put(fake, serves="cut")

    class Healing(Time):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            file.serves = "it"

    async with connected(fake, Healing(fake)) as slack:
        assert await download(slack, described(fake, file), LIMIT) == file.content


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"mode": "tombstone"}, "deleted"),
        ({"mode": "hidden_by_limit"}, "plan"),
        ({"mode": "external", "is_external": True, "url_private": "https://docs.example.com/d/1"}, "another service"),
        ({"is_external": True}, "another service"),
        ({"mode": "quip", "filetype": "quip"}, "Canvases"),
        ({"filetype": "list"}, "Canvases"),
    ],
)
async def test_what_is_no_file_is_said_in_words(slack: SlackApi, fake: FakeSlack, more: Json, said: str) -> None:
    assert said in await refusal(slack, described(fake, put(fake)) | more)
    assert [entry.method for entry in fake.journal.entries] == ["auth.test"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("file_not_found", "see the file"),
        ("file_deleted", "deleted"),
        ("missing_scope", "files:read"),
        ("something_new", "something_new"),
    ],
)
async def test_what_files_info_refuses_is_said_in_words(slack: SlackApi, fake: FakeSlack, code: str, said: str) -> None:
    fake.fail("files.info", error(code))
    assert said in await refusal(slack, {"id": "F1"})


async def test_slack_is_away(slack: SlackApi, fake: FakeSlack) -> None:
    fake.fail("files.info", status(503))
    assert "Try again later" in await refusal(slack, {"id": put(fake).id})
    missing = described(fake, put(fake, serves="missing"))
    assert "deleted" in await refusal(slack, missing)


async def test_a_file_that_may_not_be_seen(slack: SlackApi, fake: FakeSlack) -> None:
    unseen = described(fake, put(fake)) | {"file_access": "access_denied", "id": "F404"}
    assert "see the file" in await refusal(slack, unseen)
    fake.fail("files.info", error("access_denied"), calls=[1])
    file = put(fake)
    assert "see the file" in await refusal(slack, {"id": file.id})
    assert await download(slack, {"id": file.id}, LIMIT) == file.content  # and other files are asked for
