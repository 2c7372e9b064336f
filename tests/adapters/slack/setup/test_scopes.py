"""Each scope of the manifest taken away in turn: it is named before anybody asks, and what does not hang on it still
works.

Source: newcomer.md row 9.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from adapters.slack.setup import check, manifest
from bot.config.settings import Settings
from bot.doctor.run import examine
from retrieval.types import EVERYONE, TEAM
from tests.adapters.acting import until
from tests.adapters.slack.service import Service, taught
from tests.adapters.slack.stage import SESSION, STATUS
from tests.fakes.slack import FakeSlack

PLACES = ("channels", "groups", "mpim", "im")  # as scopes call them
NOWHERE: frozenset[str] = frozenset()
UNHEARD = {"chat:write": frozenset(PLACES), "im:history": frozenset({"im"})}  # what the doctor calls not answered
UNKNOWN = {"users:read": frozenset(PLACES), **{f"{place}:read": frozenset({place}) for place in PLACES}}
FILELESS = {"files:read": frozenset(PLACES), **{f"{place}:history": frozenset({place}) for place in PLACES}}


COSTS = {
    "app_mentions:read": {"mentions alone"},
    "assistant:write": {"suggestions", "names", "stop"},
    "channels:read": {"digest in a public channel"},
    "commands": {"commands", "shortcut"},
    "groups:read": {"digest in a private channel"},
    "im:write": {"asking a person"},
    "users:read": {"asking a person"},
    "reactions:read": {"reactions"},
}
"""Of `FEATURES` those that a scope costs; the others cost an answer, its documents or its files, as above."""


@pytest.mark.parametrize("scope", manifest.scopes())
async def test_without_it_the_doctor_says_so_and_whoever_can_still_be_answered_is(scope: str, tmp_path: Path) -> None:
    need = next(need for need in manifest.SCOPES if need.name == scope)
    async with FakeSlack(scopes=set(manifest.scopes()) - {scope}) as slack:
        given = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token, "SLACK_API_URL": slack.api_url}
        settings = Settings.model_validate({"KOTAE_HOME": str(tmp_path / "doctor"), "_env_file": None, **given})
        (finding,) = [each for each in await examine(settings, check.CHECKS) if "scope" in each.what.en]
        assert finding.level == ("fault" if need.answers else "warning") and finding.todo is not None
        assert scope in finding.what.en and need.without.en in finding.what.en and need.without.ja in finding.what.ja
        assert f"add {scope}, then “Reinstall" in finding.todo.en and f"{scope} を追加" in finding.todo.ja
        unheard = UNHEARD.get(scope, NOWHERE)
        assert need.answers == (scope in UNHEARD or scope in UNKNOWN or scope == "app_mentions:read")
        assert ("answered" in need.without.en and need.answers) == bool(unheard)

        world = slack.world
        where = {
            "channels": "C1",
            "groups": world.add_channel("G1", "leads", kind="private", members=("U1", slack.bot_user)).id,
            "mpim": world.im("U1", "U2", slack.bot_user).id,
            "im": slack.dm("U1"),
        }
        async with taught(slack, tmp_path) as here:
            asked = {}
            for place, channel in where.items():
                file = world.add_file("plan.txt", b"The plan.", "U1")
                asked[place] = await slack.says(channel, "U1", "@kotae How long do refunds take?", files=[file])
            heard = [ts for place, ts in asked.items() if place not in unheard]
            await slack.wait_for(
                lambda: all("30 days" in "".join(each.shown for each in slack.replies(ts)) for ts in heard)
            )
            await slack.wait_for_idle()
            assert here.adapter.connected
            for place, ts in asked.items():
                assert bool(slack.replies(ts)) == (place not in unheard)
            for message, readers in zip(here.player.messages, here.player.readers, strict=True):
                place = next(place for place, channel in where.items() if channel == message.place.channel)
                assert EVERYONE in readers.scopes
                assert (TEAM in readers.scopes) == (place not in UNKNOWN.get(scope, NOWHERE))
                assert any(file.data for file in message.files) == (place not in FILELESS.get(scope, NOWHERE))
            assert scope == "chat:write" or await _lost(slack, here, asked) == COSTS.get(scope, set())
            assert scope in COSTS or scope in UNHEARD or scope in UNKNOWN or scope in FILELESS  # none is needless


async def test_the_scopes_of_the_manifest_are_enough_for_everything(tmp_path: Path) -> None:
    async with FakeSlack(scopes=set(manifest.scopes())) as slack:
        slack.world.add_channel("G1", "leads", kind="private", members=("U1", slack.bot_user))
        async with taught(slack, tmp_path) as here:
            places = {"channels": "C1", "im": slack.dm("U1")}
            asked = {place: await slack.says(channel, "U1", "@kotae Refunds?") for place, channel in places.items()}
            for ts in asked.values():
                await slack.wait_for(lambda ts=ts: "30 days" in "".join(each.shown for each in slack.replies(ts)))  # type: ignore[misc]
            assert await _lost(slack, here, asked) == set()
        assert not any("missing_scope" in str(entry.answer) for entry in slack.journal.entries)


async def _lost(slack: FakeSlack, here: Service, asked: Mapping[str, str]) -> set[str]:
    """Which features do not work. `asked`: the questions that were put, by their places."""
    lost = set()
    await slack.wait_for_idle()
    dm = slack.dm("U1")
    await slack.opens_home("U1", "messages")
    await slack.opens_home("U1")
    if "assistant:write" in slack.app.scopes:
        await slack.wait_for(lambda: slack.world.prompts)
        await slack.wait_for(lambda: not slack.replies(asked["im"]) or (dm, asked["im"]) in slack.world.titles)
    await slack.wait_for_idle()
    if not slack.world.prompts:
        lost.add("suggestions")
    if slack.replies(asked["im"]) and (dm, asked["im"]) not in slack.world.titles:
        lost.add("names")
    await slack.wait_for(lambda: (slack.app.id, "U1") in slack.world.homes)  # which no scope costs
    signs = {entry.method for entry in slack.journal.entries if entry.answer and entry.answer.get("ok")}
    if STATUS not in signs:
        lost.add("status")
    if SESSION not in signs:
        lost.add("stop")
    try:
        await slack.command("/kotae", "help", "U1", "C1")
        await slack.wait_for(lambda: slack.whispers("U1"))
    except LookupError:
        lost.add("commands")
    try:
        await slack.shortcut("add_to_knowledge", "U1", asked["channels"])
        await slack.wait_for(lambda: slack.world.views)
    except LookupError:
        lost.add("shortcut")
    answer = slack.replies(asked["channels"])[-1]
    await slack.reacts("U2", answer.ts, "+1")
    if any("reaction_added" in str(delivery.body) for delivery in slack.journal.deliveries):
        turn = str((answer.metadata or {})["event_payload"]["about"])
        await until(lambda: here.data.votes.of(turn))
    else:
        lost.add("reactions")
    for name, what in (
        ("general", "digest in a public channel"),
        ("leads", "digest in a private channel"),
        ("@U2", "asking a person"),
    ):
        try:
            await here.adapter.find(name)
        except (LookupError, ConnectionError):
            lost.add(what)
    slack.subscribed = ("app_mention",)  # a team that shows its bot no other messages
    alone = await slack.says("C1", "U1", "@kotae Refunds again?")
    if any(
        "app_mention" in str(delivery.body) and alone in str(delivery.body) for delivery in slack.journal.deliveries
    ):
        await slack.wait_for(lambda: slack.replies(alone))
    else:
        lost.add("mentions alone")
    return lost
