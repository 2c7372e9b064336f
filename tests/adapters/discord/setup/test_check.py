"""What the doctor and the set-up learn from Discord: each newcomer's mistake is named, with what to do about it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import web

from adapters.discord.setup import check
from bot.config.settings import Settings
from bot.doctor.findings import Finding, Remark
from bot.doctor.run import examine
from bot.store.engine import connect
from bot.store.homes import Homes
from tests.adapters.discord.program import named
from tests.bot import databases
from tests.fakes.discord_fake import ANN, GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_world import FORUM

TOKEN = "MTE4NzY1NDMyMTA5ODc2NTQzMg.GCANAR.CANARYCANARYCANARYCANARYCANARYCANARY00"
ID = "1187654321098765432"
LIMITED, VERIFIED = 1 << 19, 1 << 18


@dataclass
class Discord:
    """The few methods that are asked, on loopback. `answers`: path → status and body, in place of the ordinary."""

    guilds: list[dict[str, Any]] = field(default_factory=lambda: [{"id": "7", "name": "Harbour"}])
    flags: int = LIMITED
    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)
    url: str = ""
    agents: set[str] = field(default_factory=set)

    async def answer(self, request: web.Request) -> web.Response:
        self.agents.add(request.headers["User-Agent"])
        path = request.path.removeprefix("/api/v10")
        if request.headers["Authorization"] != f"Bot {TOKEN}":
            return web.json_response({"message": "401: Unauthorized", "code": 0}, status=401)
        known: dict[str, Any] = {
            "/users/@me": {"id": ID, "username": "kotae", "bot": True},
            "/oauth2/applications/@me": {"id": ID, "name": "Kotae", "flags": self.flags},
            "/users/@me/guilds": self.guilds,
            "/channels/5": {"id": "5", "type": 0, "name": "digest"},
            "/channels/6": {"id": "6", "type": 2, "name": "voice"},
            "/guilds/7/channels": [
                {"id": "5", "type": 0, "name": "digest", "permission_overwrites": []},
                {"id": "6", "type": 2, "name": "voice", "permission_overwrites": []},
            ],
        }
        status, body = self.answers.get(path, (200, known[path]) if path in known else (404, {"code": 10003}))
        if isinstance(body, str):
            return web.Response(status=status, text=body, content_type="text/html")
        return web.json_response(body, status=status)


@asynccontextmanager
async def discord(**how: Any) -> AsyncIterator[Discord]:
    made = Discord(**how)
    app = web.Application()
    app.router.add_get("/api/v10/{path:.*}", made.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/api/v10"
    try:
        yield made
    finally:
        await runner.cleanup()


def settings(url: str, **values: str) -> Settings:
    return Settings.model_validate({"DISCORD_TOKEN": TOKEN, "DISCORD_API_URL": url} | values)


async def found(url: str, **values: str) -> list[Finding]:
    return await examine(settings(url, **values), check.CHECKS)


def expect(findings: Sequence[Finding | Remark], level: str, *parts: str) -> None:
    (one,) = [finding for finding in findings if finding.level == level]
    assert one.todo is not None
    said = "\n".join((one.what.en, one.todo.en, one.what.ja, one.todo.ja))
    for part in parts:
        assert part in said, (part, said)
    assert one.what.ja != one.what.en and one.todo.ja != one.todo.en
    assert "CANARY" not in said and "[redacted]" not in said and "{" not in said


async def test_a_well_set_up_discord_is_echoed_by_name() -> None:
    async with discord() as server:
        findings = await found(server.url, KOTAE_DIGEST_CHANNEL="5")
        assert await check.problems(settings(server.url)) == []
    said = "\n".join(finding.what.en for finding in findings)
    assert {finding.level for finding in findings} == {"ok"}
    for part in ("Connected as kotae", "Intent is on", "Harbour (7)", "#digest"):
        assert part in said, said


async def test_the_library_that_asks_is_named_in_the_form_that_discord_wants() -> None:
    async with discord() as server:
        await found(server.url, KOTAE_DIGEST_CHANNEL="5")
    assert server.agents == {f"DiscordBot (https://www.python-httpx.org, {version('httpx')}) Kotae"}


async def test_where_discord_is_not_set_up_nothing_is_asked_or_said() -> None:
    assert await examine(Settings.model_validate({}), check.CHECKS) == []


@pytest.mark.parametrize("flags", [LIMITED, VERIFIED])
async def test_either_flag_grants_the_message_content(flags: int) -> None:
    async with discord(flags=flags | 1 << 23) as server:
        assert "Intent is on" in "".join(finding.what.en for finding in await found(server.url))


async def test_without_the_message_content_a_thread_is_not_read() -> None:
    async with discord(flags=1 << 23) as server:
        findings = await found(server.url)
    (off,) = [finding for finding in findings if "Intent is off" in finding.what.en]
    assert off.level == "ok" and off.todo is not None and "メンション" in off.what.ja
    assert f"applications/{ID}/bot" in off.todo.en and "Message Content Intent" in off.todo.ja


MISTAKES = {
    "token": ((401, {"message": "401: Unauthorized"}), "fault", ("does not accept DISCORD_TOKEN", "Reset Token", "受け付けません")),
    "person": ((200, {"id": "1", "username": "ann", "bot": False}), "fault", ("belongs to a person", "Reset Token", "個人")),
    "sick": ((503, {}), "fault", ("cannot be reached", "DISCORD_API_URL")),
    "busy": ((429, {"retry_after": 1}), "warning", ("too many requests", "minute")),
    "page": ((200, "<html>Sign in</html>"), "fault", ("not in the expected form", "proxy")),
    "list": ((200, []), "fault", ("not in the expected form", "DISCORD_API_URL")),
    "forbidden": ((403, {}), "fault", ("not in the expected form", "DISCORD_API_URL")),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "level", "said"), MISTAKES.values(), ids=MISTAKES.keys())
async def test_what_is_wrong_with_a_token(answer: tuple[int, Any], level: str, said: tuple[str, ...]) -> None:
    async with discord(answers={"/users/@me": answer}) as server:
        expect(await found(server.url), level, *said)


async def test_a_discord_that_is_not_there(unused_tcp_port: int) -> None:
    expect(await found(f"http://127.0.0.1:{unused_tcp_port}/api/v10"), "fault", "cannot be reached", "接続できません")


# -- guilds -----------------------------------------------------------------------------------------------------------

TWO = [{"id": "7", "name": "Harbour"}, {"id": "8", "name": "Town"}]


async def test_a_bot_in_no_server_is_given_its_invitation() -> None:
    async with discord(guilds=[]) as server:
        expect(await found(server.url), "warning", "no server", check.invite(ID), "招待")


async def test_several_servers_and_none_chosen() -> None:
    async with discord(guilds=TWO) as server:
        expect(await found(server.url), "warning", "Harbour (7), Town (8)", "KOTAE_DISCORD_GUILDS", "誰も")


async def test_a_server_that_is_not_the_one_whose_members_were_the_team(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    databases.made(home / "kotae.db")
    engine = connect(f"sqlite+aiosqlite:///{home / 'kotae.db'}")
    await Homes(engine).team("discord:8")
    await engine.dispose()
    said = ("Harbour (7) alone", "server 8", "KOTAE_DISCORD_GUILDS=7", check.invite(ID), "誰も")
    async with discord() as server:
        expect(await found(server.url, KOTAE_HOME=str(home)), "warning", *said)
        chosen = await found(server.url, KOTAE_HOME=str(home), KOTAE_DISCORD_GUILDS="7")
    assert {finding.level for finding in chosen} == {"ok"}


async def test_several_servers_of_which_one_is_the_team() -> None:
    async with discord(guilds=TWO) as server:
        findings = await found(server.url, KOTAE_DISCORD_GUILDS="8")
    assert {finding.level for finding in findings} == {"ok"}
    members, others = findings[-2:]
    assert "Its members are the team: Town (8)." in members.what.en and others.todo is not None
    assert "also in Harbour (7)" in others.what.en and "count as outsiders" in others.what.en
    assert "KOTAE_DISCORD_GUILDS" in others.todo.en and "チーム外" in others.what.ja


async def test_a_chosen_server_of_more_than_discord_lists_at_once() -> None:
    async with FakeDiscord(limits=False) as fake:
        for number in range(2, 205):
            fake.world.join(fake.bot_user, fake.world.add_guild(f"G{number}", id=str(number)).id)

        async def said(**values: str) -> str:
            return "\n".join(f"{one.level} {one.what.en}" for one in await asked(fake, **values))

        chosen = await said(KOTAE_DISCORD_GUILDS=f"{GUILD},2")
        assert f"ok Its members are the team: G2 (2), Loopback ({GUILD})." in chosen
        assert "ok kotae is also in G3 (3), G4 (4), G5 (5), G6 (6), G7 (7), +194, which" in chosen
        assert "warning kotae is not in the server 9999" in await said(KOTAE_DISCORD_GUILDS=f"{GUILD},9999")
        assert "warning kotae is in 200+ servers" in (none := await said())
        assert "used: G2 (2), G3 (3), G4 (4), G5 (5), G6 (6), +195." in none


async def test_a_chosen_server_without_the_bot() -> None:
    async with discord() as server:
        expect(await found(server.url, KOTAE_DISCORD_GUILDS="7,9"), "warning", "server 9", check.invite(ID))


# -- what the bot may do there -----------------------------------------------------------------------------------------


async def asked(fake: FakeDiscord, **values: str) -> list[Finding]:
    """What the check says of a Discord with all its rights."""
    return await examine(Settings.model_validate(named(fake) | values), check.CHECKS)


async def test_a_server_in_which_all_is_as_the_invitation_asked() -> None:
    async with FakeDiscord() as fake:
        fake.world.add_channel("board", only=[ANN])  # it was not let in, which is somebody's will
        notices = fake.world.add_channel("notices")
        for who in (GUILD, fake.bot_user):  # nobody writes there
            fake.world.deny(notices.id, "send_messages", "send_messages_in_threads", who=who)
        findings = await asked(fake, KOTAE_DIGEST_CHANNEL=GENERAL)
        assert {finding.level for finding in findings} == {"ok"}, findings
        refused = await asked(fake, KOTAE_DIGEST_CHANNEL=notices.id)
        expect(refused, "fault", "may not write in the channel of the digest (#notices)", "Send Messages", "投稿権限")


async def test_each_permission_that_a_channel_takes_away_is_named() -> None:
    taken = {
        "send_messages_in_threads": "Send Messages in Threads",
        "create_public_threads": "Create Public Threads",
        "read_message_history": "Read Message History",
        "send_messages": "Send Messages",
    }
    async with FakeDiscord() as fake:
        for number, (bit, name) in enumerate(taken.items()):
            channel = fake.world.add_channel(f"c{number}")
            fake.world.deny(channel.id, bit, who=fake.bot_user)
            said = f"#c{number} ({name})"
            expect(await asked(fake), "warning", "In Loopback", said, "Edit Channel → Permissions", "チャンネルの編集")
            fake.world.allow(channel.id, bit, who=fake.bot_user)
        help_forum = fake.world.add_channel("help", kind=FORUM)
        fake.world.deny(help_forum.id, "send_messages", "create_public_threads", who=fake.bot_user)
        assert {finding.level for finding in await asked(fake)} == {"ok"}
        for number in range(7):
            fake.world.deny(fake.world.add_channel(f"x{number}").id, "send_messages", who=fake.bot_user)
        expect(await asked(fake), "warning", "#x4 (Send Messages), +2.")


async def test_a_bot_that_was_invited_without_its_permissions_or_sees_no_channel() -> None:
    async with FakeDiscord() as fake:
        own = next(role for role in fake.world.guilds[GUILD].roles.values() if role.bot_id)
        everyone = fake.world.guilds[GUILD].roles[GUILD]
        before = own.permissions
        own.permissions = 0
        everyone.permissions &= ~(1 << 35 | 1 << 38)
        names = "Create Public Threads, Send Messages in Threads"
        expect(
            await asked(fake), "warning", f"lacks permissions in Loopback ({GUILD}): {names}.", "permissions=", "招待"
        )
        own.permissions = before
        fake.world.deny(GENERAL, "view_channel", who=fake.bot_user)
        expect(await asked(fake), "warning", "sees no channel in Loopback", "View Channel", "ひとつもありません")
        own.permissions = 1 << 3
        assert {finding.level for finding in await asked(fake)} == {"ok"}  # an administrator


async def test_an_invitation_without_the_commands() -> None:
    async with FakeDiscord() as fake:
        fake.app.commandless.add(GUILD)
        expect(await asked(fake), "warning", "applications.commands", "/ingest", check.invite(fake.app.id), "コマンド")
        remarks = await check.problems(Settings.model_validate(named(fake)))
        assert len(remarks) == 1  # said at the start, too


# -- the digest's channel ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("channel", "said"),
    [
        ("digst", ("“digst”", "#digest (Harbour, 5)", "Copy Channel ID", "開発者モード", "候補")),
        ("#voice", ("no channel of that name",)),
        ("404", ("404", "does not exist", "Edit Channel")),
        ("6", ("#voice", "takes no messages", "text channel")),
    ],
)
async def test_a_channel_that_cannot_have_the_digest(channel: str, said: tuple[str, ...]) -> None:
    async with discord() as server:
        expect(await found(server.url, KOTAE_DIGEST_CHANNEL=channel), "fault", *said)


@pytest.mark.parametrize("channel", ["digest", "#Digest", "discord:#digest"])
async def test_a_channel_may_be_named(channel: str) -> None:
    async with discord() as server:
        said = [each.what.en for each in await found(server.url, KOTAE_DIGEST_CHANNEL=channel)]
        assert any("can be posted in #digest" in each for each in said)


async def test_a_name_that_two_servers_have_is_not_enough() -> None:
    guilds = [{"id": "7", "name": "Harbour"}, {"id": "8", "name": "Pier"}]
    there = (200, [{"id": "9", "type": 5, "name": "digest", "permission_overwrites": []}])
    async with discord(guilds=guilds, answers={"/guilds/8/channels": there}) as server:
        said = ("several channels", "#digest (Harbour, 5), #digest (Pier, 9)", "複数")
        expect(await found(server.url, KOTAE_DIGEST_CHANNEL="digest"), "fault", *said)
        one = await found(server.url, KOTAE_DIGEST_CHANNEL="digest", KOTAE_DISCORD_GUILDS="7")
        assert any("can be posted in #digest" in each.what.en for each in one)


async def test_a_channel_that_the_bot_may_not_see() -> None:
    async with discord(answers={"/channels/5": (403, {"code": 50001})}) as server:
        expect(await found(server.url, KOTAE_DIGEST_CHANNEL="5"), "fault", "may not see", "View Channel")


# -- the invitation ---------------------------------------------------------------------------------------------------


def test_the_invitation_asks_for_what_is_needed_and_no_more() -> None:
    link = urlsplit(check.invite(ID))
    query = parse_qs(link.query)
    assert (link.scheme, link.netloc, query["client_id"]) == ("https", "discord.com", [ID])
    assert query["scope"] == ["bot applications.commands"]
    asked = int(query["permissions"][0])
    # see and write in channels and threads, start threads, links, files, history. Source: Discord, topics/permissions
    assert [bit for bit in range(64) if asked >> bit & 1] == [10, 11, 14, 15, 16, 35, 38]
