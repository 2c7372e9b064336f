"""Each scope of the manifest taken away in turn: it is named before anybody asks, and what does not hang on it still works.

Source: newcomer.md row 9.
"""

from pathlib import Path

import pytest

from adapters.slack import check, manifest
from bot.doctor import examine
from bot.settings import Settings
from retrieval.types import EVERYONE, TEAM
from tests.adapters.slack.service import bot
from tests.adapters.slack.stage import STATUS
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import error

PLACES = ("channels", "groups", "mpim", "im")  # as scopes call them
NOWHERE: frozenset[str] = frozenset()
UNHEARD = {"chat:write": frozenset(PLACES), "im:history": frozenset({"im"})}  # what the doctor calls not answered
UNKNOWN = {"users:read": frozenset(PLACES), **{f"{place}:read": frozenset({place}) for place in PLACES}}
FILELESS = {"files:read": frozenset(PLACES), **{f"{place}:history": frozenset({place}) for place in PLACES}}


@pytest.mark.parametrize("scope", manifest.scopes())
async def test_without_it_the_doctor_says_so_and_whoever_can_still_be_answered_is(scope: str, tmp_path: Path) -> None:
    need = next(need for need in manifest.SCOPES if need.name == scope)
    async with FakeSlack(scopes=set(manifest.scopes()) - {scope}) as slack:
        if scope == "assistant:write":  # one of two that would do; Slack has asked for this one alone
            slack.fail(STATUS, error("missing_scope", needed=scope))
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
        async with bot(slack, tmp_path) as here:
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
