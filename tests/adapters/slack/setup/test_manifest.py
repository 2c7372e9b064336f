"""The manifest is what Slack takes, its table says of each scope what goes without it, and the link carries it whole."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from adapters.slack.setup import manifest

# Source: github.com/slackapi/manifest-schema, manifest.schema.1.0.0.json
LONGEST = {"name": 35, "description": 140, "agent_description": 300, "display_name": 80}


SCOPES = {
    "app_mention": "app_mentions:read",
    "message.im": "im:history",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.mpim": "mpim:history",
    "reaction_added": "reactions:read",
    "reaction_removed": "reactions:read",
    "app_home_opened": "",
    "agent_session_stopped": "chat:write",
    "user_change": "users:read",
}
"""What each event needs; Slack adds it with the event."""


def test_the_table_has_each_scope_once() -> None:
    assert sorted(need.name for need in manifest.SCOPES) == sorted(manifest.scopes())
    for need in manifest.SCOPES:
        assert need.without.en != need.without.ja, need.name


def test_the_scope_of_each_event_is_asked_for() -> None:
    assert sorted(manifest.events()) == sorted(SCOPES)
    assert {SCOPES[event] for event in manifest.events()} - {""} <= set(manifest.scopes())


def test_it_is_as_long_as_slack_takes() -> None:
    def fields(value: Mapping[str, Any]) -> None:
        for name, inner in value.items():
            if isinstance(inner, dict):
                fields(inner)
            elif name in LONGEST:
                assert 0 < len(inner) <= LONGEST[name], name

    fields({**manifest.manifest(), "features": {**manifest.manifest()["features"], "slash_commands": None}})
    for shortcut in manifest.manifest()["features"]["shortcuts"]:
        assert len(shortcut["name"]) <= 24 and len(shortcut["description"]) <= 150


def test_it_turns_on_what_the_adapter_lives_on() -> None:
    whole = manifest.manifest()
    features, settings = whole["features"], whole["settings"]
    assert features["app_home"] == {
        "home_tab_enabled": True,
        "messages_tab_enabled": True,
        "messages_tab_read_only_enabled": False,
    }
    assert features["agent_view"]["agent_description"] and features["bot_user"]["always_online"]
    assert [command["command"] for command in features["slash_commands"]] == ["/ingest", "/kotae"]
    assert [(each["type"], each["callback_id"]) for each in features["shortcuts"]] == [("message", "add_to_knowledge")]
    assert settings["socket_mode_enabled"] and settings["interactivity"]["is_enabled"]
    assert not settings["token_rotation_enabled"] and not settings["org_deploy_enabled"]
    assert "request_url" not in json.dumps(whole)  # Socket Mode has none


def test_the_link_opens_an_app_with_everything_filled_in() -> None:
    link = urlsplit(manifest.link())
    assert (link.scheme, link.netloc, link.path) == ("https", "api.slack.com", "/apps")
    query = parse_qs(link.query, strict_parsing=True)
    assert query["new_app"] == ["1"]
    assert json.loads(query["manifest_json"][0]) == manifest.manifest()
    assert len(manifest.link()) < 4_000 and " " not in manifest.link()


@pytest.mark.parametrize("scope", manifest.scopes())
def test_a_scope_that_is_missing_is_named(scope: str) -> None:
    (need,) = manifest.missing(set(manifest.scopes()) - {scope})
    assert need.name == scope


def test_more_scopes_than_are_asked_for_are_no_fault() -> None:
    assert manifest.missing({*manifest.scopes(), "files:write"}) == []


def test_over_http_every_address_is_the_one_that_slack_posts_to() -> None:
    address = "https://kotae.example.com/slack/events"
    made, usual = manifest.manifest(address), manifest.manifest()
    settings = made["settings"]
    assert not settings["socket_mode_enabled"] and usual["settings"]["socket_mode_enabled"]
    assert settings["event_subscriptions"]["request_url"] == settings["interactivity"]["request_url"] == address
    assert {command["url"] for command in made["features"]["slash_commands"]} == {address}
    assert settings["event_subscriptions"]["bot_events"] == usual["settings"]["event_subscriptions"]["bot_events"]
    assert json.loads(manifest.text(address)) == made and address.split("//")[1] in manifest.link(address)
