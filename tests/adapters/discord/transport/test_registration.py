"""The commands are told to Discord when it has others, and only then."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapters.discord.transport.registration import publish
from tests.adapters.discord.gesturing import gesturing
from tests.adapters.discord.service import bot
from tests.fakes.discord_client import call
from tests.fakes.discord_fake import FakeDiscord
from tests.fakes.discord_gate import Fault, error, status

Json = dict[str, Any]
GET, PUT = (f"{method} /applications/{{app}}/commands" for method in ("GET", "PUT"))


async def test_a_bot_that_starts_again_finds_its_commands_there(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake:
        for start in (1, 2):
            async with bot(fake, tmp_path):
                await fake.wait_for(partial(_asked, fake, start))
                await fake.wait_for_idle()
            assert len(fake.journal.calls(PUT)) == 1 and len(fake.app.commands) == 15


def _asked(fake: FakeDiscord, times: int) -> bool:
    return len(fake.journal.calls(GET)) == times and bool(fake.app.commands)


def _set(name: str, value: Any) -> Callable[[Json], Any]:
    return lambda command: command.update({name: value})


CHANGES: dict[str, Callable[[Json], Any]] = {
    "other words": _set("description", "Adds something"),
    "no Japanese": _set("name_localizations", None),
    "an option less": lambda command: command["options"].pop(),
    "options in another order": lambda command: command["options"].reverse(),
    "an option's Japanese": lambda command: command["options"][0]["description_localizations"].clear(),
    "an option's bound": lambda command: command["options"][6].pop("max_length"),
    "no proposals": lambda command: command["options"][8].pop("autocomplete"),
    "an option that is required": lambda command: command["options"][0].update(required=True),
    "for adults": _set("nsfw", True),
    "only in servers": _set("contexts", [0]),
    "only for moderators": _set("default_member_permissions", "8192"),
}


async def test_commands_that_differ_in_anything_people_see_are_told_again(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        path = f"/applications/{fake.app.id}/commands"
        ours = next(each for each in fake.journal.calls(PUT)[0].body if each["name"] == "ingest")

        async def told_again() -> int:
            before = len(fake.journal.calls(PUT))
            await publish(here.context.client)
            return len(fake.journal.calls(PUT)) - before

        assert await told_again() == 0
        for what, change in CHANGES.items():
            older = deepcopy(ours)
            change(older)
            assert (await call(fake, "POST", path, older))[0] == 200
            assert (what, await told_again(), await told_again()) == (what, 1, 0)
        await call(fake, "POST", path, {"name": "older", "description": "A command of an older version"})
        assert (await told_again(), await told_again()) == (1, 0)
        gone = next(each["id"] for each in fake.app.commands.values() if each["name"] == "settings")
        await call(fake, "DELETE", f"{path}/{gone}")
        assert (await told_again(), await told_again()) == (1, 0)
        assert len(fake.app.commands) == 15


@pytest.mark.parametrize(("fault", "tries"), [(status(503), 2), (error(30034), 1)], ids=["lost", "refused"])
async def test_commands_that_did_not_reach_discord_are_told_again(fault: Fault, tries: int, tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake:
        fake.fail(PUT, fault, calls=[1])
        async with bot(fake, tmp_path) as here:
            asked = await fake.says("general", "ann", "@kotae How long do refunds take?")
            await fake.wait_for(lambda: fake.replies(asked))
            await fake.wait_for(lambda: len(fake.journal.calls(PUT)) == tries)
            await fake.wait_for(lambda: len(fake.app.commands) == (15 if tries > 1 else 0))
            assert here.adapter.connected
