"""Slack's fake against the real clients: tokens, Socket Mode, what people do, files."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes import slack_demo
from tests.fakes import slack_gate as faults
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_client import FEEDBACK, Heard, Json, client_of, plain, refused, running, section
from tests.fakes.slack_gate import SCOPES
from tests.fakes.slack_socket import Timing


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as slack:
        yield slack


# -- tokens and scopes ----------------------------------------------------------------------------------------------


async def test_tokens_are_told_apart(slack: FakeSlack) -> None:
    told = await client_of(slack).auth_test()
    assert (told["user_id"], told["bot_id"]) == (slack.bot_user, "B0BOT")
    assert "chat:write" in told.headers["X-OAuth-Scopes"]
    assert await refused(client_of(slack, "xoxb-other").auth_test()) == "invalid_auth"
    assert await refused(client_of(slack, " ").auth_test()) == "not_authed"
    assert await refused(client_of(slack, slack.app_token).auth_test()) == "not_allowed_token_type"
    assert await refused(client_of(slack).apps_connections_open(app_token=slack.bot_token)) == "not_allowed_token_type"
    slack.app.revoked = True
    assert await refused(client_of(slack).auth_test()) == "token_revoked"


async def test_a_missing_scope_is_named() -> None:
    async with FakeSlack(scopes=SCOPES - {"groups:history"}, without=["chat.startStream"]) as slack:
        slack.world.add_channel("C2", kind="private", members=("U1", slack.bot_user))
        ts = await slack.says("C2", "U1", "@kotae hello")
        with pytest.raises(SlackApiError) as caught:
            await client_of(slack).conversations_replies(channel="C2", ts=ts)
        assert (caught.value.response["error"], caught.value.response["needed"]) == ("missing_scope", "groups:history")
        assert "chat:write" in caught.value.response["provided"]
        assert [each.body["event"]["type"] for each in slack.journal.deliveries] == ["app_mention"]
        assert await refused(client_of(slack).chat_startStream(channel="C2", thread_ts=ts)) == "unknown_method"


# -- Socket Mode ----------------------------------------------------------------------------------------------------


async def test_the_url_of_a_connection_is_good_once(slack: FakeSlack) -> None:
    url = (await client_of(slack).apps_connections_open(app_token=slack.app_token))["url"]
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as connection:
        assert (await connection.receive_json())["type"] == "hello"
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url)


@pytest.mark.parametrize("order", ["message first", "mention first"])
async def test_a_mention_comes_as_two_events_and_each_as_often_as_wished(order: Any) -> None:
    async with FakeSlack(order=order, copies=2) as slack:
        heard = Heard(slack)
        async with running(slack, heard.app):
            ts = await slack.says("C1", "U1", "@kotae a < b, see https://example.com/x")
            await slack.wait_for(lambda: len(heard.events) == 4)
            await slack.wait_for_idle()
        kinds = ["message", "message", "app_mention", "app_mention"]
        assert heard.kinds() == (kinds if order == "message first" else kinds[::-1])
        assert {each["ts"] for each in heard.events} == {ts}
        assert heard.events[0]["text"] == "<@U0BOT> a &lt; b, see <https://example.com/x>"
        assert len({each["event_id"] for each in heard.bodies}) == 2
        assert slack.journal.acked_within(2.5)


async def test_an_unacked_event_comes_again_as_the_same_event() -> None:
    async with FakeSlack(timing=Timing(ack=0.5, retries=(0.01, 0.01)), subscribed=["app_mention"]) as slack:
        heard = Heard(slack)
        heard.refuse = 2
        async with running(slack, heard.app):
            await slack.says("C1", "U1", "@kotae hello")
            await slack.wait_for(lambda: heard.events)
            await slack.wait_for_idle()
        [delivery] = slack.journal.deliveries
        assert (delivery.attempts, len(delivery.acks), heard.retries) == (3, 1, ["2"])
        assert slack.journal.acks[0].attempt == 2


async def test_what_nobody_acks_is_lost_in_the_end() -> None:
    async with FakeSlack(timing=Timing(ack=0.02, retries=(0.0,))) as slack:
        await slack.says("C1", "U1", "hello")
        [delivery] = slack.journal.deliveries
        await delivery.finished.wait()
        assert delivery.lost and delivery.attempts == 2 and not slack.journal.acked_within(1)


@pytest.mark.parametrize("reason", ["warning", "refresh_requested", "cut", "limited"])
async def test_the_client_comes_back_and_no_event_is_lost(slack: FakeSlack, reason: Any) -> None:
    heard = Heard(slack)
    async with running(slack, heard.app, ping=0.05):
        match reason:
            case "cut":
                assert slack.sockets.cut() == 1
            case "limited":
                slack.fail("apps.connections.open", faults.ratelimited(0), calls=[1])
                slack.sockets.cut()
            case _:
                await slack.sockets.disconnect(reason)
        await slack.wait_for(lambda: slack.sockets.opened >= 2 and len(slack.sockets.of(slack.app)) == 1)
        said = await slack.says("C1", "U1", "still there?")
        await slack.wait_for(lambda: heard.events)
    assert {each["ts"] for each in heard.events} == {said}
    assert len(slack.journal.calls("apps.connections.open")) >= (3 if reason == "limited" else 2)


async def test_an_event_sent_into_a_half_open_connection_comes_again() -> None:
    async with FakeSlack(timing=Timing(ack=0.2, retries=(0.05,) * 40)) as slack:
        heard = Heard(slack)
        async with running(slack, heard.app, ping=0.05):
            slack.sockets.freeze()
            await slack.says("C1", "U1", "still there?")
            await slack.wait_for(lambda: heard.events)
        assert heard.retries and len(slack.journal.deliveries) == 1


async def test_connections_share_the_events_and_the_eleventh_is_turned_away(slack: FakeSlack) -> None:
    async with aiohttp.ClientSession() as session:

        async def join() -> aiohttp.ClientWebSocketResponse:
            url = (await client_of(slack).apps_connections_open(app_token=slack.app_token))["url"]
            return await session.ws_connect(url)

        connections = [await join() for _ in range(10)]
        assert [(await each.receive_json())["num_connections"] for each in connections] == list(range(1, 11))
        late = await join()
        assert (await late.receive_json())["reason"] == "too_many_websockets"
        for number in range(10):
            await slack.says("C1", "U1", f"message {number}")
        frames = [await each.receive_json() for each in connections]  # one each: they take turns
        assert {each["payload"]["event"]["text"] for each in frames} == {f"message {number}" for number in range(10)}
        await connections[0].send_json({"envelope_id": frames[1]["envelope_id"]})  # not where it came from
        await slack.wait_for(lambda: slack.journal.acks)
        assert slack.journal.acks[0].stray
        await slack.sockets.disconnect("link_disabled")
        assert (await connections[0].receive_json())["reason"] == "link_disabled"
        assert await refused(client_of(slack).apps_connections_open(app_token=slack.app_token)) == "access_denied"
        for each in connections:
            await each.close()


async def test_a_connection_can_stay_silent(slack: FakeSlack) -> None:
    slack.sockets.hello = False
    url = (await client_of(slack).apps_connections_open(app_token=slack.app_token))["url"]
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as connection:
        await slack.says("C1", "U1", "anybody?")
        with pytest.raises(TimeoutError):
            await connection.receive(timeout=0.05)


# -- what people do -------------------------------------------------------------------------------------------------


async def test_edits_deletes_and_reactions_are_told(slack: FakeSlack) -> None:
    heard = Heard(slack)
    async with running(slack, heard.app):
        ts = await slack.says("C1", "U1", "@kotae hello")
        own = (await client_of(slack).chat_postMessage(channel="C1", thread_ts=ts, text="hi"))["ts"]
        await slack.edits(ts, "@kotae hello again")
        await slack.unfurls(ts)
        await slack.reacts("U1", own, "-1")
        await slack.unreacts("U1", own, "-1")
        await client_of(slack).reactions_add(channel="C1", timestamp=ts, name="eyes")
        await slack.deletes(ts)
        lone = await slack.says("C1", "U1", "alone")
        await slack.deletes(lone)
        await slack.joins("C1", "U9" if slack.world.add_user("U9") else "")
        await slack.opens_home("U1")
        slack.event({"type": "something_new"})
        await slack.wait_for_idle()
    told = {each.get("subtype") or each["type"]: each for each in heard.events}
    counts = {"message": 3, "app_mention": 2, "message_changed": 3, "message_deleted": 1, "reaction_added": 2}
    counts |= {"reaction_removed": 1, "member_joined_channel": 1, "channel_join": 1}
    counts |= {"app_home_opened": 1, "something_new": 1}
    assert Counter(heard.kinds()) == counts
    again = told["app_mention"]
    assert again["ts"] == ts and again["edited"]["user"] == "U1" and "hello again" in again["text"]
    assert told["reaction_removed"]["item"]["ts"] == own and told["reaction_removed"]["item_user"] == slack.bot_user
    assert told["message_changed"]["message"]["subtype"] == "tombstone"  # it had replies
    assert told["message_deleted"]["deleted_ts"] == lone
    bots = [each for each in heard.events if each.get("bot_id")]
    assert [(each["ts"], each["bot_id"]) for each in bots] == [(own, "B0BOT")]  # what it said comes back to it


async def test_buttons_modals_and_uploads(slack: FakeSlack) -> None:
    heard = Heard(slack)
    file_input = {"type": "file_input", "action_id": "file"}
    fields = [
        {
            "type": "input",
            "block_id": "why",
            "label": plain("Why"),
            "element": {"type": "plain_text_input", "action_id": "a"},
        },
        {"type": "input", "block_id": "files", "optional": True, "label": plain("Files"), "element": file_input},
    ]
    modal = {"type": "modal", "callback_id": "m", "title": plain("Wrong?"), "submit": plain("Send"), "blocks": fields}

    @heard.app.action("vote")
    async def vote(ack: Any, body: Json, client: AsyncWebClient) -> None:
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=modal)

    @heard.app.view("m")
    async def sent(ack: Any, view: Json) -> None:
        if view["state"]["values"]["why"]["a"]["value"] == "no":
            await ack(response_action="errors", errors={"why": "Say more."})
        else:
            await ack()

    async with running(slack, heard.app):
        posted = await client_of(slack).chat_postMessage(channel="C1", text="x", blocks=[FEEDBACK])
        pressed = await slack.presses("U1", posted["ts"], "vote", "negative")
        assert pressed.acked
        action = heard.bodies[-1]["actions"][0]
        assert (action["type"], action["value"], action["action_id"]) == ("feedback_buttons", "down", "vote")
        with pytest.raises(LookupError):
            await slack.presses("U1", posted["ts"], "another")
        await slack.wait_for(lambda: slack.world.views)
        with pytest.raises(LookupError, match="required"):
            await slack.submits("U1", {})
        answer = await slack.submits("U1", {"why": "no"})
        assert answer.payload == {"response_action": "errors", "errors": {"why": "Say more."}} and slack.modal("U1")
        upload = slack.world.add_file("notes.txt", b"notes", "U1")
        await slack.submits("U1", {"why": "It is 60 days.", "files": [upload]})
        values = heard.bodies[-1]["view"]["state"]["values"]
        assert values["files"]["file"]["files"][0]["id"] == upload.id
        with pytest.raises(LookupError):
            slack.modal("U1")


async def test_a_trigger_is_good_once_and_for_three_seconds(slack: FakeSlack) -> None:
    client = client_of(slack)
    view: Json = {"type": "modal", "title": plain("T"), "blocks": [section("x")]}
    trigger = slack.world.new_trigger("U1")
    await client.views_open(trigger_id=trigger, view=view)
    assert await refused(client.views_open(trigger_id=trigger, view=view)) == "exchanged_trigger_id"
    late = slack.world.new_trigger("U1")
    slack.clock.advance(3.1)
    assert await refused(client.views_open(trigger_id=late, view=view)) == "expired_trigger_id"
    assert await refused(client.views_open(trigger_id="made-up", view=view)) == "invalid_trigger_id"
    await client.views_update(view_id=slack.modal("U1").id, view=view | {"title": plain("New")})
    assert slack.modal("U1").body["title"]["text"] == "New"
    await client.views_publish(user_id="U1", view={"type": "home", "blocks": [section("Home")]})
    assert slack.home("U1").body["blocks"][0]["text"]["text"] == "Home"


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"title": plain("x" * 25)}, "/view/title/text"),
        ({"submit": plain("x" * 25)}, "/view/submit/text"),
        ({"private_metadata": "x" * 3_001}, "/view/private_metadata"),
        ({"callback_id": "x" * 256}, "/view/callback_id"),
        ({"blocks": [section("x")] * 101}, "/view/blocks"),
        ({"blocks": [FEEDBACK]}, "/view/blocks/0/type"),
        (
            {"blocks": [{"type": "input", "label": plain("x" * 2_001), "element": {"type": "file_input"}}]},
            "/view/blocks/0/label/text",
        ),
        ({"type": "home"}, "/view/type"),
    ],
)
async def test_what_a_modal_may_not_be(slack: FakeSlack, more: Json, place: str) -> None:
    view: Json = {"type": "modal", "title": plain("T"), "submit": plain("Go"), "blocks": [section("x")]}
    with pytest.raises(SlackApiError) as caught:
        await client_of(slack).views_open(trigger_id=slack.world.new_trigger("U1"), view=view | more)
    assert caught.value.response["error"] == "invalid_arguments"
    assert place in str(caught.value.response["response_metadata"]["messages"])


async def test_commands_and_shortcuts_are_answered(slack: FakeSlack) -> None:
    heard = Heard(slack)

    @heard.app.command("/kotae")
    async def kotae(ack: Any, respond: Any) -> None:
        await ack("working")
        for _ in range(6):
            await respond("more")

    @heard.app.shortcut("teach")
    async def teach(ack: Any) -> None:
        await ack()

    async with running(slack, heard.app):
        assert (await slack.command("/kotae", "help", "U1", "C1")).payload == {"text": "working"}
        await slack.wait_for(lambda: len(slack.journal.calls("response_url")) == 6)
        await slack.wait_for_idle()
        assert sorted(each.shown for each in slack.whispers("U1")) == [*["more"] * 5, "working"]
        assert [each.status for each in slack.journal.calls("response_url")] == [200] * 5 + [404]
        assert heard.bodies[-1]["text"] == "help" and heard.bodies[-1]["is_enterprise_install"] == "false"
        ts = await slack.says("C1", "U2", "Refunds take 30 days.")
        assert (await slack.shortcut("teach", "U1", ts)).acked
        assert heard.bodies[-1]["message"]["text"] == "Refunds take 30 days."


async def test_a_gesture_nobody_acks_is_not_sent_again() -> None:
    async with FakeSlack(timing=Timing(ack=0.05)) as slack:
        heard = Heard(slack)
        heard.refuse = 9
        async with running(slack, heard.app):
            delivery = await slack.command("/kotae", "", "U1", "C1")
            assert (delivery.acked, delivery.attempts, delivery.lost) == (False, 1, True)


async def test_another_bot_is_heard_and_an_own_app_beside(slack: FakeSlack) -> None:
    slack.world.add_user("U7", "deploys", kind="bot")
    slack.world.channels["C1"].members.add("U7")
    await slack.says("C1", "U7", "@kotae done", subtype="bot_message")
    first, second = [each.body["event"] for each in slack.journal.deliveries]
    assert (first["bot_id"], "user" in first, second["type"]) == ("B7", False, "app_mention")
    other = slack.install("echo")
    slack.world.channels["C1"].members.add(other.bot_user)
    client = client_of(slack, other.bot_token)
    posted = await client.chat_postMessage(channel="C1", text=f"<@{slack.bot_user}> hello")
    assert await refused(client_of(slack).chat_update(channel="C1", ts=posted["ts"], text="x")) == "cant_update_message"
    assert [each.body["event"]["type"] for each in slack.journal.deliveries[2:]] == ["message", "app_mention"]


# -- files ----------------------------------------------------------------------------------------------------------


async def test_a_file_needs_the_token_and_fails_on_order(slack: FakeSlack) -> None:
    client = client_of(slack)
    file = slack.world.add_file("notes.txt", b"notes", "U1", mimetype="text/plain")
    await slack.says("C1", "U1", "@kotae see this", files=[file])
    events = [each.body["event"] for each in slack.journal.deliveries]
    assert [each["type"] for each in events] == ["file_shared", "message", "app_mention"]
    assert events[1]["subtype"] == "file_share" and "url_private" not in events[1]["files"][0]
    url = (await client.files_info(file=file.id))["file"]["url_private_download"]
    bearer = {"Authorization": f"Bearer {slack.bot_token}"}
    async with aiohttp.ClientSession() as session:
        async with session.get(url, headers=bearer) as response:
            assert await response.read() == b"notes"
        async with session.get(url) as response:
            assert (response.status, response.content_type) == (200, "text/html")
        file.serves, file.redirect = "redirect", slack.url.replace("127.0.0.1", "localhost") + "/elsewhere/x"
        async with session.get(url, headers=bearer) as response:
            assert await response.read() == b"from elsewhere"
        assert slack.journal.calls("elsewhere")[0].arguments == {"authorization": False}
        file.serves = "endless"
        async with session.get(url, headers=bearer) as response:
            assert len(await response.content.readexactly(1_000_000)) == 1_000_000
        file.serves = "cut"
        async with session.get(url, headers=bearer) as response:
            with pytest.raises(aiohttp.ClientPayloadError):
                await response.read()
    file.claimed = 7
    assert (await client.files_info(file=file.id))["file"]["size"] == 7


async def test_an_upload_url_is_good_once(slack: FakeSlack) -> None:
    client = client_of(slack)
    await client.files_upload_v2(channel="C1", content="a,b", filename="table.csv", initial_comment="Here.")
    [message] = slack.posted("C1")
    assert (message.shown, slack.world.files[message.files[0]].content) == ("Here.", b"a,b")
    made = await client.files_getUploadURLExternal(filename="x", length=3)
    early = client.files_completeUploadExternal(files=[{"id": made["file_id"]}], channel_id="C1")
    assert await refused(early) == "file_not_found"
    async with aiohttp.ClientSession() as session:
        statuses = [(await session.post(made["upload_url"], data=b"abc")).status for _ in range(2)]
    assert statuses == [200, 400]


# -- by hand --------------------------------------------------------------------------------------------------------


async def test_people_are_typed_in_by_hand(slack: FakeSlack, capsys: pytest.CaptureFixture[str]) -> None:
    showing = asyncio.create_task(slack_demo.show(slack))
    await slack_demo.does(slack, "U1 general: @kotae how long?")
    ts = capsys.readouterr().out.split()[-1]
    blocks = [section("*30* days"), FEEDBACK]
    await client_of(slack).chat_postMessage(channel="C1", thread_ts=ts, text="x", blocks=blocks)
    await slack_demo.does(slack, f"U2 general >{ts}: and abroad?")
    await slack_demo.does(slack, f"U1 +1 {ts}")
    assert [each.shown for each in slack.thread("C1", ts)] == ["30 days", "and abroad?"]
    assert slack.message(ts).reactions == {"+1": ["U1"]}
    printed = ""
    while "[vote]" not in printed:
        await asyncio.sleep(0)
        printed += capsys.readouterr().out
    assert f"#general >{ts}\n    30 days\n    [vote]" in printed
    showing.cancel()
    await asyncio.gather(showing, return_exceptions=True)
