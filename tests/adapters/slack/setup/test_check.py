"""What the doctor, the set-up and the start learn from Slack: each newcomer's mistake is named, with what to do about
it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web

from adapters.slack.setup import check, manifest
from adapters.slack.setup.first_mention import first_mention
from bot.config.settings import Settings
from bot.doctor.findings import Finding, Remark
from bot.doctor.run import examine
from tests.fakes import slack_gate as gate
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_http import SIGNING_SECRET
from tests.fakes.slack_socket import Timing

CANARY = "CANARYCANARY"


def settings(slack: FakeSlack, **values: str) -> Settings:
    values = {"KOTAE_HOME": "/nonexistent", **values}
    given = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token, "SLACK_API_URL": slack.api_url}
    return Settings.model_validate(given | values)


async def found(slack: FakeSlack, **values: str) -> list[Finding]:
    return await examine(settings(slack, **values), check.CHECKS)


def expect(findings: Sequence[Finding | Remark], level: str, *parts: str) -> None:
    """Exactly one is of this level, says all of these in one of the languages, and has a next step in both; that
    nothing has arrived from Slack yet is said of every new home."""
    (one,) = [one for one in findings if one.level == level and "ever arrived" not in one.what.en]
    assert one.todo is not None
    said = "\n".join((one.what.en, one.todo.en, one.what.ja, one.todo.ja))
    for part in parts:
        assert part in said, (part, said)
    assert one.what.ja != one.what.en and one.todo.ja != one.todo.en
    assert "[redacted]" not in said and CANARY not in said and "loopback-" not in said and "{" not in said


# -- tokens -----------------------------------------------------------------------------------------------------------


async def test_a_well_set_up_slack_is_echoed_by_name() -> None:
    async with FakeSlack() as slack:
        findings = await found(slack, KOTAE_DIGEST_CHANNEL="C1")
        assert await check.problems(settings(slack)) == []
    assert [finding.level for finding in findings if finding.level != "ok"] == ["warning"]  # nothing was ever asked
    said = "\n".join(finding.what.en for finding in findings)
    for part in ("@kotae", "Loopback", "16 scopes", "Socket Mode is on", "#general"):
        assert part in said, said
    assert not slack.sockets.opened  # nothing was connected


async def test_over_http_nothing_is_asked_of_socket_mode() -> None:
    async with FakeSlack() as slack:
        over_http = {"SLACK_APP_TOKEN": "", "SLACK_SIGNING_SECRET": SIGNING_SECRET}
        findings = await found(slack, **over_http)
        assert await check.problems(settings(slack, **over_http)) == []
    said = "\n".join(f"{one.what.en} {one.todo.en if one.todo else ''}" for one in findings)
    assert "over HTTP" in said and "/slack/events" in said and "@kotae" in said
    assert "--wait" not in said and not slack.journal.calls("apps.connections.open")


async def test_where_slack_is_not_set_up_nothing_is_asked_or_said() -> None:
    assert await examine(Settings.model_validate({}), check.CHECKS) == []


@dataclass(frozen=True)
class Mistake:
    method: str
    answer: gate.Fault
    level: str
    said: tuple[str, ...]


BOT, APP = "auth.test", "apps.connections.open"
MISTAKES = {
    "bot-token": Mistake(BOT, gate.error("invalid_auth"), "fault", ("does not accept SLACK_BOT_TOKEN", "OAuth & Permissions", "受け付けません")),
    "removed": Mistake(BOT, gate.error("account_inactive"), "fault", ("was revoked", "Install App", "無効")),
    "revoked": Mistake(BOT, gate.error("token_revoked"), "fault", ("was revoked", "取り消され")),
    "rotated": Mistake(BOT, gate.error("token_expired"), "fault", ("token rotation", "kotae setup slack")),
    "bot-kind": Mistake(BOT, gate.error("not_allowed_token_type"), "fault", ("a bot token (xoxb-)", "OAuth & Permissions", "ボットトークン")),
    "bot-other": Mistake(BOT, gate.error("org_login_required"), "fault", ("org_login_required", "docs.slack.dev")),
    "app-token": Mistake(APP, gate.error("invalid_auth"), "fault", ("does not accept SLACK_APP_TOKEN", "App-Level Tokens")),
    "app-kind": Mistake(APP, gate.error("not_allowed_token_type"), "fault", ("an app-level token (xapp-)", "App-Level Tokens")),
    "app-scope": Mistake(APP, gate.error("missing_scope", needed="connections:write"), "fault", ("connections:write", "App-Level Tokens", "作り直して")),
    "socket-off": Mistake(APP, gate.error("socket_mode_not_enabled"), "fault", ("Socket Mode is off", "Enable Socket Mode", "無効")),
    "busy": Mistake(BOT, gate.ratelimited(30), "warning", ("too many requests", "minute")),
    "sick": Mistake(BOT, gate.status(503), "fault", ("cannot be reached", "SLACK_API_URL")),
    "cut": Mistake(BOT, gate.CUT_BEFORE, "fault", ("cannot be reached", "network")),
    "page": Mistake(BOT, gate.page(), "fault", ("not in the expected form", "proxy")),
    "mistyped": Mistake(BOT, gate.error("<script>"), "fault", ("not in the expected form",)),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
async def test_what_is_wrong_with_a_token(mistake: Mistake) -> None:
    async with FakeSlack() as slack:
        slack.fail(mistake.method, mistake.answer)
        expect(await found(slack), mistake.level, *mistake.said)
        expect(await check.problems(settings(slack)), mistake.level, *mistake.said)


async def test_an_app_of_a_whole_organisation_is_told_that_nobody_is_of_the_team() -> None:
    async with FakeSlack() as slack:
        slack.server.methods.whole_org = True
        expect(await found(slack), "fault", "Enterprise Grid", "Install App", "組織全体", "ワークスペースへ")
        expect(await check.problems(settings(slack)), "fault", "Enterprise Grid")


async def test_a_token_that_slack_does_not_know_is_not_shown() -> None:
    async with FakeSlack() as slack:
        findings = await found(slack, SLACK_BOT_TOKEN=f"xoxb-1-{CANARY}")
    expect(findings, "fault", "does not accept SLACK_BOT_TOKEN")


async def test_a_slack_that_is_not_there(unused_tcp_port: int) -> None:
    nowhere = Settings.model_validate(
        {
            "SLACK_BOT_TOKEN": f"xoxb-1-{CANARY}",
            "SLACK_APP_TOKEN": f"xapp-1-{CANARY}",
            "SLACK_API_URL": f"http://127.0.0.1:{unused_tcp_port}/api/",
        }
    )
    findings = await check.problems(nowhere)
    assert len(findings) == 1  # said once, though two were asked
    expect(findings, "fault", "cannot be reached", "接続できません")


async def test_a_slack_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "CALL_SECONDS", 0.3)
    async with FakeSlack() as slack:
        slack.fail("auth.test", gate.HANG)
        expect(await found(slack), "fault", "cannot be reached")


# -- scopes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", manifest.scopes())
async def test_each_missing_scope_is_named_with_what_it_costs(scope: str) -> None:
    need = next(need for need in manifest.SCOPES if need.name == scope)
    async with FakeSlack(scopes=set(manifest.scopes()) - {scope}) as slack:
        findings = await check.problems(settings(slack))
    level = "fault" if need.answers else "warning"
    expect(findings, level, scope, need.without.en, need.without.ja, f"add {scope}", "Reinstall to Workspace")
    assert len(findings) == 1


async def test_many_missing_scopes_are_two_remarks() -> None:
    async with FakeSlack(scopes={"chat:write"}) as slack:
        findings = await check.problems(settings(slack))
    assert sorted(finding.level for finding in findings) == ["fault", "warning"]
    named = "".join(finding.what.en for finding in findings)
    assert all(scope in named for scope in manifest.scopes() if scope != "chat:write")


# -- channels ---------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def scripted(**answers: Any) -> AsyncIterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """A server for methods that the fake has not: by their names with `_` for `.`, an answer or a list of them."""
    asked: list[tuple[str, dict[str, str]]] = []

    async def answer(request: web.Request) -> web.Response:
        method = request.match_info["method"]
        asked.append((method, {name: str(value) for name, value in (await request.post()).items()}))
        told = answers.get(method.replace(".", "_"), {"ok": False, "error": "unknown_method"})
        return web.json_response(told.pop(0) if isinstance(told, list) else told)

    app = web.Application()
    app.router.add_post("/api/{method}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/api/", asked
    finally:
        await runner.cleanup()


US = check.SlackBot("kotae", "U0BOT", "B0BOT", "Loopback", None)
NONE: dict[str, Any] = {"ok": True, "channels": []}


async def test_a_bot_that_nobody_has_invited() -> None:
    pages = [NONE | {"response_metadata": {"next_cursor": "next"}}, NONE]
    async with scripted(users_conversations=pages) as (url, asked):
        expect(
            await check.membership(check.web_client("xoxb-1", url), US),
            "warning",
            "no channel",
            "/invite @kotae",
            "入っていません",
        )
    assert asked[1][1]["cursor"] == "next"  # an empty page is not the last


async def test_a_bot_that_somebody_has_invited() -> None:
    pages = [NONE | {"response_metadata": {"next_cursor": "next"}}, {"ok": True, "channels": [{"id": "C1"}]}]
    async with scripted(users_conversations=pages) as (url, _asked):
        assert await check.membership(check.web_client("xoxb-1", url), US) == []


async def test_two_tokens_of_different_apps() -> None:
    async with scripted(bots_info={"ok": True, "bot": {"app_id": "A000000ONE"}}) as (url, _asked):
        client = check.web_client("xoxb-1", url)
        expect(await check.same_app(client, US, f"xapp-1-A000000TWO-1-{CANARY}"), "warning", "another app", "same app")
        assert await check.same_app(client, US, f"xapp-1-A000000ONE-1-{CANARY}") == []
        assert await check.same_app(client, US, f"xapp-{CANARY}") == []


@pytest.mark.parametrize(
    ("channel", "said"),
    [
        ("#genral", ("“#genral”", "no channel of that name", "#general (C1)", "候補: #general (C1)", "チャンネル情報")),
        ("123456789012345678", ("no channel of that name",)),
        ("old", ("no channel of that name",)),  # it is archived
        ("hidden", ("no channel of that name", "in a private channel first type: /invite @kotae")),
        ("#quiet", ("#quiet", "is not in", "/invite @kotae", "入っていません")),
        ("shared", ("several channels", "#shared (C5), #shared (C6)", "複数")),
        ("C404", ("C404", "does not exist", "/invite @kotae")),
        ("C2", ("#quiet", "is not in", "/invite @kotae", "入っていません")),
        ("C3", ("#old", "archived", "KOTAE_DIGEST_CHANNEL")),
    ],
)
async def test_a_channel_that_cannot_have_the_digest(channel: str, said: tuple[str, ...]) -> None:
    async with FakeSlack() as slack:
        slack.world.add_channel("C2", "quiet", members=("U1",))
        slack.world.add_channel("C3", "old", members=("U1", slack.bot_user)).archived = True
        slack.world.add_channel("G4", "hidden", kind="private", members=("U1",))
        for each in ("C5", "C6"):  # one of them is another company's
            slack.world.add_channel(each, "shared", members=("U1", slack.bot_user))
        expect(await found(slack, KOTAE_DIGEST_CHANNEL=channel), "fault", *said)
        expect(await check.problems(settings(slack, KOTAE_DIGEST_CHANNEL=channel)), "fault", *said)


@pytest.mark.parametrize("channel", ["general", "#General", "slack:#general", "slack:general", "#leads", "last"])
async def test_a_channel_may_be_named(channel: str) -> None:
    async with FakeSlack() as slack:
        slack.world.add_channel("G2", "leads", kind="private", members=("U1", slack.bot_user))
        for number in range(250):  # whole pages of archived ones
            slack.world.add_channel(f"C{number + 100}", f"old-{number}", members=("U1",)).archived = True
        slack.world.add_channel("C9", "last", members=("U1", slack.bot_user))
        said = [each.what.en for each in await found(slack, KOTAE_DIGEST_CHANNEL=channel)]
        assert any("can be posted in #" in each for each in said)
        assert len(slack.journal.calls("conversations.list")) == 3


async def test_without_the_scope_for_private_channels_public_ones_have_names() -> None:
    async with FakeSlack(scopes=set(manifest.scopes()) - {"groups:read"}) as slack:
        remarks = await found(slack, KOTAE_DIGEST_CHANNEL="general")
        assert any("can be posted in #general" in remark.what.en for remark in remarks)
        slack.fail("conversations.list", gate.ratelimited(30))
        assert not any("digest" in remark.what.en for remark in await found(slack, KOTAE_DIGEST_CHANNEL="general"))


async def test_a_digest_that_goes_to_discord_is_not_looked_for_in_slack() -> None:
    async with FakeSlack() as slack:
        both = settings(slack, KOTAE_DIGEST_CHANNEL="123456789012345678", DISCORD_TOKEN="abc.def.ghi")
        assert await check.problems(both) == []


# -- events -----------------------------------------------------------------------------------------------------------


async def test_which_events_are_subscribed_is_said_to_be_unknown_with_where_to_look() -> None:
    async with FakeSlack(subscribed=("message.im",)) as slack:
        findings = await found(slack)
    (events,) = [finding for finding in findings if finding.todo is not None]
    assert events.level == "warning" and "does not tell" in events.what.en and events.todo is not None
    for event in manifest.events():
        assert event in events.todo.en and event in events.todo.ja
    assert "no button to stop" in events.todo.en and "中止するボタン" in events.todo.ja


async def heard(
    slack: FakeSlack, say: str = "<@BOT> hello", *, seconds: float = 5.0, direct: bool = False
) -> list[Remark]:
    """What the wizard says when somebody speaks after it has begun to listen."""
    bot = await check.identify(slack.bot_token, slack.api_url)
    waiting = asyncio.create_task(
        first_mention(bot, slack.bot_token, slack.app_token, slack.api_url, "en", seconds=seconds, twin=0.3)
    )
    await slack.sockets.connected()
    ts = await slack.says(slack.dm("U1") if direct else "C1", "U1", say)
    remarks = await waiting
    posted = [message for message in slack.world.messages.values() if message.user == slack.bot_user]
    for message in posted:
        assert message.thread == ts and "kotae run" in message.text
    assert len(posted) == (remarks[0].level != "warning" or "Event Subscriptions is off" not in f"{remarks[0].todo}")
    return remarks


async def test_the_first_mention_is_heard_and_replied_to() -> None:
    async with FakeSlack() as slack:
        (remark,) = await heard(slack)
        assert remark.level == "ok" and "has arrived" in remark.what.en
        theirs = [each for each in slack.sockets.deliveries if each.body["event"].get("user") == "U1"]
        assert len(theirs) == 2 and all(each.acked for each in theirs)


async def test_a_direct_message_will_do() -> None:
    async with FakeSlack() as slack:
        (remark,) = await heard(slack, "hello", direct=True)
    assert remark.level == "ok"


async def test_a_missing_app_mention_is_named() -> None:
    async with FakeSlack(subscribed=("message.channels",)) as slack:
        expect(await heard(slack), "fault", "app_mention", "Subscribe to bot events", "届きませんでした")


async def test_missing_message_events_are_named() -> None:
    async with FakeSlack(subscribed=("app_mention",)) as slack:
        expect(await heard(slack), "warning", "message.channels", "message.groups", "Subscribe to bot events")


async def test_a_mention_that_does_not_arrive() -> None:
    async with FakeSlack(subscribed=("reaction_added",)) as slack:
        expect(
            await heard(slack, seconds=0.3),
            "warning",
            "No mention",
            "/invite @kotae",
            "app_mention",
            "届きませんでした",
        )


async def test_what_is_not_for_the_bot_is_left_to_the_one_that_will_run() -> None:
    async with FakeSlack(timing=Timing(ack=0.2, retries=())) as slack:
        expect(await heard(slack, "hello all", seconds=0.3), "warning", "No mention")
        assert not any(delivery.acked for delivery in slack.sockets.deliveries)


async def test_a_reply_that_cannot_be_posted_is_said() -> None:
    async with FakeSlack() as slack:
        slack.fail("chat.postMessage", gate.error("restricted_action"))
        bot = await check.identify(slack.bot_token, slack.api_url)
        waiting = asyncio.create_task(first_mention(bot, slack.bot_token, slack.app_token, slack.api_url, "ja"))
        await slack.sockets.connected()
        await slack.says("C1", "U1", "<@BOT> こんにちは")
        expect(await waiting, "fault", "could not be posted", "restricted_action", "chat:write")
