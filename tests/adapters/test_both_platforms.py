"""One process on Slack and Discord at once: what is taught on one is found on the other, as far as its scope allows."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from adapters.runner import announcing, connected, digest_target
from adapters.slack.rendering.block_kit import ANSWER
from bot.app import make_adapters, running
from bot.config.settings import Settings
from bot.logs import Redactor
from bot.records import Period
from tests.fakes.discord_fake import ANN, GENERAL, FakeDiscord
from tests.fakes.slack import FakeSlack


async def test_an_answer_given_in_slack_reaches_whoever_asked_in_discord(tmp_path: Path) -> None:
    curry, whale = "Which curry does the canteen serve on Fridays?", "When does the secret project Whale begin?"
    async with FakeSlack(limits=False) as slack, FakeDiscord(limits=False) as discord:
        slack.world.add_channel("G1", "secret", kind="private", members=("U1", slack.bot_user))
        given = {
            "KOTAE_HOME": str(tmp_path),
            "KOTAE_MODEL": "extractive",
            "KOTAE_LANGUAGE": "en",
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_APP_TOKEN": slack.app_token,
            "SLACK_API_URL": slack.api_url,
            "DISCORD_TOKEN": discord.token,
            "DISCORD_API_URL": discord.api_url,
            "DISCORD_GATEWAY_URL": discord.gateway_url,
            "DISCORD_CDN_URL": discord.cdn_url,
        }
        settings = Settings.model_validate(given)
        adapters, _ = make_adapters(settings)
        async with running(settings, Redactor()) as app, connected(adapters, app.bot) as platforms:
            for adapter in adapters:
                await adapter.ready.wait()
            assert dict(platforms.connected) == {"Slack": True, "Discord": True}
            private = await slack.says("G1", "U1", f"@kotae {whale}")
            asked = await discord.says(GENERAL, ANN, f"<@{discord.bot_user}> {curry}")
            await discord.wait_for(lambda: any("not find" in one.shown for one in discord.replies(asked)), timeout=30)
            await slack.wait_for_replies(private, 2, timeout=30)

            adapter, channel = digest_target(adapters, "slack:C1")
            now = datetime.now(UTC)
            period = Period(now - timedelta(days=7), now + timedelta(minutes=1))
            await announcing(adapter, channel, app.digest_card)(period)
            head, card = slack.posted("C1")
            assert curry in card.shown and "Whale" not in head.shown + card.shown

            await slack.presses("U2", card, ANSWER)
            await slack.wait_for(lambda: _title(slack) == "Answer this")
            await slack.submits("U2", {"answer": "On Fridays the canteen serves the green curry."})
            told = await discord.wait_for(
                lambda: [one for one in discord.replies(asked) if "green curry" in one.shown], timeout=20
            )
            assert told[0].pings == [ANN]
            again = await discord.says(GENERAL, ANN, f"<@{discord.bot_user}> {curry}")
            await discord.wait_for(
                lambda: any("green curry" in one.shown for one in discord.replies(again)), timeout=20
            )
            here = await slack.says("C1", "U1", f"@kotae {curry}")
            await slack.wait_for(lambda: any("green curry" in one.shown for one in slack.replies(here)), timeout=30)


def _title(slack: FakeSlack) -> str:
    try:
        return str(slack.modal("U2").body["title"]["text"])
    except LookupError:
        return ""
