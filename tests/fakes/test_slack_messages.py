"""Slack's fake against the real client: what may be posted and streamed, how fast, how it fails, what it shows."""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError

from tests.fakes import slack_gate as faults
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_client import FEEDBACK, Json, button, client_of, plain, refused, section
from tests.fakes.slack_gate import SCOPES
from tests.fakes.slack_world import Message


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as slack:
        yield slack


# -- messages -------------------------------------------------------------------------------------------------------


async def test_a_message_is_posted_read_edited_and_deleted(slack: FakeSlack) -> None:
    client = client_of(slack)
    asked = await slack.says("C1", "U1", "@kotae hello")
    metadata = {"event_type": "turn", "event_payload": {"turn_id": "t1"}}
    posted = await client.chat_postMessage(channel="C1", text="one", thread_ts=asked, metadata=metadata)
    [reply] = slack.thread("C1", asked)
    told = await client.conversations_replies(channel="C1", ts=asked, include_all_metadata=True)
    assert [each.get("metadata") for each in told["messages"]] == [None, metadata]
    told = await client.conversations_replies(channel="C1", ts=asked)
    assert [each["text"] for each in told["messages"]] == ["<@U0BOT> hello", "one"] and "metadata" not in told[
        "messages"
    ][1]
    await client.chat_update(channel="C1", ts=posted["ts"], text="two", blocks=[section("*two*")])
    assert (reply.shown, reply.history, reply.metadata) == ("two", ["one"], metadata)
    await client.chat_update(channel="C1", ts=posted["ts"], text="three")
    assert (reply.shown, reply.blocks, reply.edited != "") == ("three", [], True)
    link = await client.chat_getPermalink(channel="C1", message_ts=reply.ts)
    assert f"thread_ts={asked}" in link["permalink"]
    await client.chat_delete(channel="C1", ts=posted["ts"])
    assert slack.thread("C1", asked) == []
    assert await refused(client.chat_update(channel="C1", ts=posted["ts"], text="four")) == "message_not_found"


async def test_a_form_carries_what_json_carries(slack: FakeSlack) -> None:
    form = {"channel": "C1", "text": "hi", "blocks": json.dumps([section("*hi*")]), "token": slack.bot_token}
    async with aiohttp.ClientSession() as session:
        async with session.post(slack.api_url + "chat.postMessage", data=form) as response:
            assert (await response.json())["ok"]
        bearer = {"Authorization": f"Bearer {slack.bot_token}"}
        async with session.post(slack.api_url + "users.info", json={"user": "U1"}, headers=bearer) as response:
            assert (await response.json())["error"] == "user_not_found"  # this one reads no JSON
    assert slack.posted("C1")[0].shown == "hi"
    assert "token" not in slack.journal.calls("chat.postMessage")[0].arguments


@pytest.fixture
async def places(slack: FakeSlack) -> FakeSlack:
    slack.world.add_channel("C2", "plans", kind="private", members=("U1",))
    slack.world.add_channel("C3", "open", members=("U1",))
    slack.world.add_channel("C4", "old", members=("U1", slack.bot_user), archived=True)
    return slack


LONG = "x" * 3001
BAD: list[tuple[str, Json, str]] = [
    ("elsewhere", {"channel": "C9", "text": "x"}, "channel_not_found"),
    ("private", {"channel": "C2", "text": "x"}, "channel_not_found"),
    ("not inside", {"channel": "C3", "text": "x"}, "not_in_channel"),
    ("archived", {"channel": "C4", "text": "x"}, "is_archived"),
    ("nothing", {"text": ""}, "no_text"),
    ("long text", {"text": "x" * 40_001}, "msg_too_long"),
    ("no thread", {"text": "x", "thread_ts": "1.000001"}, "thread_not_found"),
    ("not JSON", {"text": "x", "blocks": "[{"}, "invalid_blocks_format"),
    ("unknown block", {"text": "x", "blocks": [{"type": "chart"}]}, "invalid_blocks"),
    ("51 blocks", {"text": "x", "blocks": [{"type": "divider"}] * 51}, "invalid_blocks"),
    ("section", {"text": "x", "blocks": [section(LONG)]}, "invalid_blocks"),
    ("empty section", {"text": "x", "blocks": [section("")]}, "invalid_blocks"),
    ("header", {"text": "x", "blocks": [{"type": "header", "text": plain("x" * 151)}]}, "invalid_blocks"),
    ("header style", {"text": "x", "blocks": [{"type": "header", "text": section("x")["text"]}]}, "invalid_blocks"),
    ("markdown", {"text": "x", "blocks": [{"type": "markdown", "text": "x" * 6_001}] * 2}, "msg_blocks_too_long"),
    ("together", {"text": "x", "blocks": [section("x" * 2_900)] * 5}, "msg_blocks_too_long"),
    (
        "button text",
        {"text": "x", "blocks": [{"type": "actions", "elements": [button(text="x" * 76)]}]},
        "invalid_blocks",
    ),
    (
        "value",
        {"text": "x", "blocks": [{"type": "actions", "elements": [button(value="x" * 2_001)]}]},
        "invalid_blocks",
    ),
    ("action id", {"text": "x", "blocks": [{"type": "actions", "elements": [button("x" * 256)]}]}, "invalid_blocks"),
    ("same action", {"text": "x", "blocks": [{"type": "actions", "elements": [button(), button()]}]}, "invalid_blocks"),
    ("feedback in actions", {"text": "x", "blocks": [FEEDBACK | {"type": "actions"}]}, "invalid_blocks"),
    ("button in context", {"text": "x", "blocks": [{"type": "context", "elements": [button()]}]}, "invalid_blocks"),
    (
        "uneven table",
        {"text": "x", "blocks": [{"type": "table", "rows": [[{"type": "raw_text", "text": ""}]]}]},
        "invalid_blocks",
    ),
    (
        "two tables",
        {"markdown_text": "|a|b|\n|---|---|\n|1|2|\n\nand\n\n|a|b|\n|---|---|\n|1|2|"},
        "invalid_attachments",
    ),
    ("two texts", {"text": "x", "markdown_text": "y"}, "markdown_text_conflict"),
    ("metadata", {"text": "x", "metadata": {"event_type": "x"}}, "invalid_metadata_format"),
]


@pytest.mark.parametrize(("arguments", "error"), [(each[1], each[2]) for each in BAD], ids=[each[0] for each in BAD])
async def test_what_slack_does_not_take(places: FakeSlack, arguments: Json, error: str) -> None:
    call = client_of(places).api_call("chat.postMessage", json={"channel": "C1"} | arguments)
    assert await refused(call) == error
    assert places.posted("C1") == []


async def test_bad_blocks_are_explained(slack: FakeSlack) -> None:
    with pytest.raises(SlackApiError) as caught:
        await client_of(slack).chat_postMessage(channel="C1", text="x", blocks=[section(LONG)])
    told = caught.value.response["response_metadata"]["messages"]
    assert told == ["[ERROR] must be less than 3001 characters [json-pointer:/blocks/0/text/text]"]


async def test_only_own_messages_are_edited_and_short_ones(places: FakeSlack) -> None:
    client = client_of(places)
    theirs = await places.says("C1", "U1", "mine")
    assert await refused(client.chat_update(channel="C1", ts=theirs, text="x")) == "cant_update_message"
    assert await refused(client.chat_delete(channel="C1", ts=theirs)) == "cant_delete_message"
    own = (await client.chat_postMessage(channel="C1", text="x" * 4_001))["ts"]
    assert await refused(client.chat_update(channel="C1", ts=own, text="x" * 4_001)) == "msg_too_long"
    reply = (await client.chat_postMessage(channel="C1", text="x", thread_ts=theirs))["ts"]
    assert await refused(client.chat_postMessage(channel="C1", text="x", thread_ts=reply)) == "cannot_reply_to_message"
    places.world.channels["C1"].archived = True
    assert await refused(client.chat_update(channel="C1", ts=own, text="y")) == "is_inactive"


async def test_whispers_are_for_one_person(slack: FakeSlack) -> None:
    client = client_of(slack)
    slack.world.add_user("U3")
    await client.chat_postEphemeral(channel="C1", user="U1", text="psst")
    assert [each.shown for each in slack.whispers("U1")] == ["psst"] and slack.posted("C1") == []
    assert await refused(client.chat_postEphemeral(channel="C1", user="U3", text="x")) == "user_not_in_channel"


async def test_people_and_places_are_told_of(places: FakeSlack) -> None:
    client, world = client_of(places), places.world
    world.add_user("U8", kind="stranger")
    world.add_user("U9", kind="guest")
    world.add_channel("C5", "shared", members=("U8", places.bot_user), ext_shared=True)
    stranger, guest = [(await client.users_info(user=each))["user"] for each in ("U8", "U9")]
    assert stranger["is_stranger"] and stranger["team_id"] == "T0OTHER" and guest["is_ultra_restricted"]
    assert (await client.conversations_info(channel="C5"))["channel"]["is_ext_shared"]
    assert await refused(client.conversations_info(channel="C2")) == "channel_not_found"
    opened = (await client.conversations_open(users="U1"))["channel"]["id"]
    assert opened == places.dm("U1") and (await client.conversations_info(channel=opened))["channel"]["user"] == "U1"
    names = {each["name"] for each in (await client.conversations_list(types="public_channel", limit=2))["channels"]}
    first = await client.conversations_members(channel="C1", limit=2)
    second = await client.conversations_members(channel="C1", cursor=first["response_metadata"]["next_cursor"])
    assert names == {"general", "open"} and first["members"] + second["members"] == ["U0BOT", "U1", "U2"]
    assert second["response_metadata"]["next_cursor"] == ""


# -- streams --------------------------------------------------------------------------------------------------------


def task(id: str = "1", status: str = "in_progress", **more: Any) -> Json:
    return {"type": "task_update", "id": id, "title": f"Search {id}", "status": status} | more


@pytest.fixture
async def asked(slack: FakeSlack) -> Json:
    """What a stream in #general is started with."""
    ts = await slack.says("C1", "U1", "@kotae hello")
    return {"channel": "C1", "thread_ts": ts, "recipient_team_id": "T0TEAM", "recipient_user_id": "U1"}


async def test_a_stream_is_built_of_tasks_and_text(slack: FakeSlack, asked: Json) -> None:
    client = client_of(slack)
    stream = await client.chat_stream(**asked, buffer_size=1)
    await stream.append(chunks=[task(details="first, ")])
    [message] = slack.thread("C1", asked["thread_ts"])
    assert message.streaming and slack.replies(asked["thread_ts"]) == []
    update = client.chat_update(channel="C1", ts=message.ts, text="x")
    assert await refused(update) == "streaming_state_conflict"
    assert await refused(client.chat_delete(channel="C1", ts=message.ts)) == "cant_delete_message"
    source = {"type": "url", "url": "https://example.com/a", "text": "A"}
    await stream.append(chunks=[task(status="complete", details="then", sources=[source])])
    await stream.append(markdown_text="**30** ")
    await stream.append(markdown_text="days [1](https://example.com/b)")
    metadata = {"event_type": "turn", "event_payload": {}}
    await stream.stop(blocks=[FEEDBACK], metadata=metadata)
    assert message.shown == "Search 1\nfirst, then\nA\n30 days 1"
    assert (message.urls, message.actions) == (["https://example.com/a", "https://example.com/b"], ["vote"])
    assert message.metadata == metadata and slack.replies(asked["thread_ts"]) == [message]
    with pytest.raises(SlackApiError, match="message_not_in_streaming_state"):
        await client.chat_appendStream(channel="C1", ts=message.ts, markdown_text="more")
    await client.chat_update(channel="C1", ts=message.ts, text="rewritten")
    assert message.shown == "rewritten"


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"recipient_user_id": None}, "missing_recipient_user_id"),
        ({"recipient_team_id": None}, "missing_recipient_team_id"),
        ({"thread_ts": None}, "invalid_arguments"),
        ({"thread_ts": "1.000001"}, "thread_not_found"),
        ({"task_display_mode": "grid"}, "invalid_arguments"),
        ({"markdown_text": "x", "chunks": [task()]}, "invalid_arguments"),
        ({"markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"chunks": [task(status="done")]}, "invalid_chunks"),
        ({"chunks": [{"type": "thought", "text": "x"}]}, "invalid_chunks"),
        ({"chunks": [task(str(number)) for number in range(51)]}, "msg_blocks_too_many"),
        ({"chunks": [task(), {"type": "markdown_text", "text": "あ" * 3_600}]}, "msg_too_long"),
    ],
)
async def test_what_a_stream_does_not_take(slack: FakeSlack, asked: Json, more: Json, error: str) -> None:
    arguments = {name: value for name, value in (asked | more).items() if value is not None}
    assert await refused(client_of(slack).api_call("chat.startStream", json=arguments)) == error


async def test_a_stream_keeps_to_its_first_kind_and_ends_by_itself(slack: FakeSlack, asked: Json) -> None:
    client = client_of(slack)
    place = {"channel": "C1", "ts": (await client.chat_startStream(**asked, markdown_text="Hm"))["ts"]}
    assert await refused(client.chat_appendStream(**place, chunks=[task()])) == "streaming_mode_mismatch"
    assert await refused(client.chat_appendStream(**place)) == "no_text"
    slack.clock.advance(301)
    assert await refused(client.chat_stopStream(**place)) == "message_not_in_streaming_state"
    await client.chat_update(**place, text="Hm, all of it")
    assert [each.shown for each in slack.replies(asked["thread_ts"])] == ["Hm, all of it"]
    second = {"channel": "C1", "ts": (await client.chat_startStream(**asked, markdown_text="Hm"))["ts"]}
    await slack.stops_stream(second["ts"])
    assert await refused(client.chat_appendStream(**second, markdown_text="x")) == "stopped_by_user"


async def test_a_status_ends_with_a_message_or_after_two_minutes(slack: FakeSlack, asked: Json) -> None:
    client, thread = client_of(slack), asked["thread_ts"]
    place = {"channel_id": "C1", "thread_ts": thread}
    await client.assistant_threads_setStatus(**place, status="thinking", loading_messages=["one", "two"])
    assert slack.world.status("C1", thread) == "thinking"
    slack.clock.advance(121)
    assert slack.world.status("C1", thread) == ""
    await client.assistant_threads_setStatus(**place, status="thinking")
    await client.chat_postMessage(channel="C1", thread_ts=thread, text="done")
    assert slack.world.status("C1", thread) == ""
    many = client.assistant_threads_setStatus(**place, status="x", loading_messages=["x"] * 11)
    assert await refused(many) == "invalid_arguments"
    wrong = client.assistant_threads_setStatus(channel_id="C1", thread_ts="1.000001", status="x")
    assert await refused(wrong) == "invalid_thread_ts"


async def test_a_session_has_a_status_a_title_and_a_button_to_stop_it(slack: FakeSlack, asked: Json) -> None:
    client, thread = client_of(slack), asked["thread_ts"]
    place = {"channel_id": "C1", "thread_ts": thread}
    assert await refused(client.agents_sessions_rename(**place, title="Refunds")) == "session_not_found"
    told = await client.agents_sessions_setStatus(**place, status="processing", title="Refunds", initiator_user_id="U1")
    assert (told["status"], told["title"], told.get("warning")) == ("processing", "Refunds", None)
    stream = (await client.chat_startStream(**asked, markdown_text="Hm"))["ts"]
    (delivery,) = await slack.stops("U2", thread)
    event = delivery.body["event"]
    assert (event["user"], event["thread_ts"], event["streaming_message_ts"]) == ("U2", thread, [stream])
    assert slack.world.processing == {("C1", thread)}  # that is the app's to change
    assert (await client.agents_sessions_setStatus(**place, status="active", title="Other"))["title"] == "Refunds"
    with pytest.raises(LookupError):
        await slack.stops("U1", thread)
    await client.agents_sessions_rename(**place, title="Money back")
    await slack.renames("U1", thread, "Refunds!")
    assert slack.world.names == {("C1", thread): "Refunds!"}
    renamed = slack.journal.deliveries[-1].body["event"]
    assert (renamed["previous_title"], renamed["title"]) == ("Money back", "Refunds!")
    await client.agents_sessions_setStatus(**place, status="processing")
    slack.clock.advance(3_601)
    assert not slack.world.processing


async def test_a_stream_is_a_session_at_work(slack: FakeSlack, asked: Json) -> None:
    client, place = client_of(slack), ("C1", asked["thread_ts"])
    for status in ("active", "suspended"):
        ts = (await client.chat_startStream(**asked, markdown_text="Hm"))["ts"]
        assert place in slack.world.processing and slack.world.sessions[place].initiator == "U1"
        await client.chat_stopStream(channel="C1", ts=ts, session_status=None if status == "active" else status)
        assert slack.world.sessions[place].status == status
    ts = (await client.chat_startStream(**asked, markdown_text="Hm"))["ts"]
    slack.clock.advance(301)
    assert not slack.message(ts).streaming and slack.world.sessions[place].status == "active"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"status": "is thinking…"}, "invalid_arguments"),
        ({"status": ""}, "invalid_arguments"),
        ({"title": "x" * 201}, "invalid_arguments"),
        ({"loading_messages": "x"}, "invalid_arguments"),
        ({"initiator_user_id": "U9"}, "invalid_arguments"),
        ({"thread_ts": None}, "invalid_arguments"),
        ({"thread_ts": "1.000001"}, "thread_not_found"),
        ({"channel_id": "C9"}, "channel_not_found"),
        ({"username": "Kotae"}, "missing_scope"),
    ],
)
async def test_what_a_session_does_not_take(slack: FakeSlack, asked: Json, arguments: Json, code: str) -> None:
    usual = {"channel_id": "C1", "thread_ts": asked["thread_ts"], "status": "processing"}
    client = client_of(slack)
    assert await refused(client.api_call("agents.sessions.setStatus", json=usual | arguments)) == code
    assert not slack.world.sessions


async def test_only_an_agent_has_sessions_and_one_that_is_not_told_has_no_button() -> None:
    async with FakeSlack(scopes=SCOPES - {"assistant:write"}) as slack:
        place = {"channel_id": "C1", "thread_ts": await slack.says("C1", "U1", "?")}
        assert await refused(client_of(slack).agents_sessions_setStatus(**place, status="active")) == "not_authorized"
    async with FakeSlack(subscribed=("app_mention",)) as slack:
        place = {"channel_id": "C1", "thread_ts": await slack.says("C1", "U1", "?")}
        told = await client_of(slack).agents_sessions_setStatus(**place, status="processing")
        assert told["warning"] == "missing_agent_session_stopped_event_subscription"
        with pytest.raises(LookupError):
            await slack.stops("U1", place["thread_ts"])


# -- rates and faults -----------------------------------------------------------------------------------------------


async def test_posts_are_one_a_second_in_a_channel(slack: FakeSlack) -> None:
    client = client_of(slack)
    slack.world.add_channel("C2", members=(slack.bot_user,))
    for _ in range(4):
        await client.chat_postMessage(channel="C1", text="x")
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel="C1", text="x")
    response = caught.value.response
    assert (response.status_code, response["error"], response.headers["Retry-After"]) == (429, "ratelimited", "1")
    own = (await client.chat_postMessage(channel="C2", text="another channel"))["ts"]
    slack.clock.advance(1)
    await client.chat_postMessage(channel="C1", text="x")
    for _ in range(50):
        await client.chat_update(channel="C2", ts=own, text="x")
    with pytest.raises(SlackApiError) as caught:
        await client.chat_update(channel="C2", ts=own, text="x")
    assert 58 <= int(caught.value.response.headers["Retry-After"]) <= 60


async def test_faults_come_by_method_and_number(slack: FakeSlack) -> None:
    client = client_of(slack)

    async def post(text: str) -> str:
        try:
            answer = await client.chat_postMessage(channel="C1", text=text)
        except SlackApiError as error:
            told = error.response.data
            return f"{error.response.status_code} {told['error'] if isinstance(told, dict) and told else 'no JSON'}"
        except (aiohttp.ClientError, TimeoutError) as error:
            return type(error).__name__
        return str(answer.status_code)

    slack.fail("chat.postMessage", faults.status(503), calls=[2])
    slack.fail("chat.postMessage", faults.error("is_archived"), calls=[3])
    slack.fail("chat.postMessage", faults.ratelimited(7), where=lambda arguments: arguments["text"] == "limited")
    assert [await post(text) for text in ("1", "2", "3", "limited")] == [
        "200",
        "503 no JSON",
        "200 is_archived",
        "429 ratelimited",
    ]
    slack.heal()
    slack.fail("chat.postMessage", faults.CUT_AFTER, calls=[1])
    slack.fail("chat.postMessage", faults.CUT_BEFORE, calls=[2])
    slack.fail("*", faults.page(502), calls=[3])
    assert [await post(text) for text in ("cut", "never", "page")] == ["ServerDisconnectedError"] * 2 + ["502 no JSON"]
    assert [each.shown for each in slack.posted("C1")] == ["1", "cut"]
    client.timeout = 0.05  # type: ignore[assignment]
    slack.clock.advance(9)
    slack.fail("chat.postMessage", faults.HANG, calls=[1])
    slack.fail("chat.postMessage", faults.slow(0.2), calls=[2])
    assert [await post(text) for text in ("hang", "slow")] == ["TimeoutError"] * 2
    assert [each.shown for each in slack.posted("C1")] == ["1", "cut", "slow"]
    assert slack.journal.errors() == ["chat.postMessage: is_archived", "chat.postMessage: ratelimited"]


async def test_a_lesser_slack_drops_metadata() -> None:
    async with FakeSlack(without=["metadata"]) as slack:
        metadata = {"event_type": "turn", "event_payload": {}}
        client = client_of(slack)
        ts = (await client.chat_postMessage(channel="C1", text="x", metadata=metadata))["ts"]
        told = await client.conversations_replies(channel="C1", ts=ts, include_all_metadata=True)
        assert "metadata" not in told["messages"][0]


async def test_a_thread_is_read_in_pages(slack: FakeSlack) -> None:
    parent = await slack.says("C1", "U1", "0")
    for number in range(1, 5):
        await slack.says("C1", "U2", str(number), thread=parent)
    found, cursor = [], None
    while cursor != "":
        page = await client_of(slack).conversations_replies(channel="C1", ts=parent, limit=2, cursor=cursor)
        found.append([each["text"] for each in page["messages"]])
        cursor = page["response_metadata"]["next_cursor"]
    assert found == [["0", "1"], ["2", "3"], ["4"]]
    assert await refused(client_of(slack).conversations_replies(channel="C1", ts="1.000001")) == "thread_not_found"


# -- what people see ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "shown", "mentions", "urls"),
    [
        (Message("1", "C", "U", "*Hi* <@U1> &lt;@U2&gt; <!channel>"), "Hi @U1 <@U2> @channel", ["U1", "channel"], []),
        (Message("1", "C", "U", "<https://a.example/x|here> or www.b.example"), "here or www.b.example",
         [], ["https://a.example/x", "www.b.example"]),
        (Message("1", "C", "U", "x", [section("*b* `c`"), {"type": "divider"}]), "b `c`", [], []),
        (Message("1", "C", "U", "x", [{"type": "markdown", "text": "# T\n[l](https://a.example) ![](https://b.example/i.png) <!here>"}]),
         "T\nl  @here", ["here"], ["https://a.example", "https://b.example/i.png"]),
        (Message("1", "C", "U", "x", [{"type": "markdown", "text": "[a][1]\n\n[1]: //evil.example/x"}]),
         "[a][1]\n\n[1]: //evil.example/x", [], ["//evil.example/x"]),
        (Message("1", "C", "U", "@here", link_names=True), "@here", ["here"], []),
        (Message("1", "C", "U", "x", [{"type": "header", "text": plain("<!here> https://a.example")}]),
         "<!here> https://a.example", [], []),
        (Message("1", "C", "U", "x", [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
            {"type": "text", "text": "see "}, {"type": "user", "user_id": "U5"}, {"type": "link", "url": "https://a.example"}]}]}]),
         "see @U5https://a.example", ["U5"], ["https://a.example"]),
    ],
)  # fmt: skip
def test_what_a_message_shows_pings_and_links(
    message: Message, shown: str, mentions: list[str], urls: list[str]
) -> None:
    assert (message.shown, message.mentions, message.urls) == (shown, mentions, urls)


def test_bare_names_become_links_unless_nothing_is_parsed() -> None:
    assert Message("1", "C", "U", "see refunds.md").domains == ["refunds.md"]
    assert Message("1", "C", "U", "see refunds.md", parse="none").domains == []
