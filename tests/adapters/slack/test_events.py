"""What Slack sends, as values: payloads in the form of the platform's documentation."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack.events import (
    Asked,
    Deleted,
    Edited,
    HomeOpened,
    Reacted,
    Replied,
    StopPressed,
    Us,
    Welcomed,
    readable,
    seen,
)
from bot.types import Place

US = Us(user="U0BOT", bot_id="B0BOT", team="T1")
PLACE = Place("slack", "T1", "C1")

Json = dict[str, Any]


def body(**event: Any) -> Json:
    return {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": event}


def message(**more: Any) -> Json:
    said = {"type": "message", "channel_type": "channel", "user": "U1", "channel": "C1", "ts": "1.1", "text": "hi"}
    return body(**(said | more))


def mention(**more: Any) -> Json:
    said = {"type": "app_mention", "user": "U1", "channel": "C1", "ts": "1.1", "text": "<@U0BOT> hi", "event_ts": "1.1"}
    return body(**(said | more))


def test_both_events_of_one_mention_are_the_same_question() -> None:
    first, second = seen(mention(), US), seen(message(text="<@U0BOT> hi"), US)
    assert isinstance(first, Asked) and first == second
    assert (first.message.place, first.message.thread, first.message.message) == (PLACE, "1.1", "1.1")
    assert (first.message.text, first.message.author, first.stranger) == ("hi", "U1", False)
    assert first.message.audience.visibility == "unknown"  # nothing in an event says who reads the channel


def test_a_group_that_is_called_in_front_is_not_what_is_asked() -> None:
    for called, asked in (("<!subteam^S1|@hr_team>", "申請フォームはどこ？"), ("<!subteam^S1>", "Where is it?")):
        found = seen(mention(text=f"<@{US.user}> {called} {asked}"), US)
        assert isinstance(found, Asked) and found.message.text == asked
    about = seen(mention(text=f"<@{US.user}> <!subteam^S1|@hr_team> の連絡先は？"), US)
    assert isinstance(about, Asked) and about.message.text == "@hr_team の連絡先は？"


def test_a_mention_in_a_thread_belongs_to_the_thread() -> None:
    asked = seen(mention(thread_ts="0.9"), US)
    assert isinstance(asked, Asked) and asked.message.thread == "0.9"


def test_a_direct_message_needs_no_mention_and_a_channel_does() -> None:
    assert isinstance(seen(message(channel="D1", channel_type="im"), US), Asked)
    assert seen(message(), US) is None
    assert isinstance(seen(message(thread_ts="0.9"), US), Replied)
    assert isinstance(seen(message(subtype="file_share", text="<@U0BOT> see this", files=[{"id": "F1"}]), US), Asked)


def test_a_direct_message_that_only_forwards_another_asks_what_that_says() -> None:
    """Slack sends no text of its own then, and the other message as an attachment with `is_share`."""
    shared = [{"id": 1, "is_share": True, "text": "<@U2> how &lt;long&gt;?", "author_id": "U2", "fallback": "x"}]
    alone = {"text": "", "attachments": [*shared, {"id": 2, "text": "a preview"}]}
    asked = seen(message(channel="D1", channel_type="im", **alone), US)
    assert isinstance(asked, Asked) and asked.message.text == "@U2 how <long>?"
    asked = seen(message(channel="D1", channel_type="im", **(alone | {"text": "And this?"})), US)
    assert isinstance(asked, Asked) and asked.message.text == "And this?"
    asked = seen(mention(attachments=shared, text="<@U0BOT>"), US)
    assert isinstance(asked, Asked) and asked.message.text == ""  # others read there


@pytest.mark.parametrize("kind", [{"channel_type": "app_home"}, {"channel_type": None}])
def test_a_direct_message_is_known_by_its_channel(kind: Json) -> None:
    """Source: docs.slack.dev events `message.app_home`, and the examples of `message_changed` and `message_deleted`,
    which have no channel_type."""
    direct = {"channel": "D1", **kind}
    assert isinstance(seen(message(**direct), US), Asked)
    new, old = ({"type": "message", "user": "U1", "ts": "1.1", "text": text} for text in ("new", "old"))
    said = {"type": "message", "subtype": "message_changed", "ts": "2.0", "hidden": True, **direct}
    edited = seen(body(**said, message=new, previous_message=old), US)
    assert isinstance(edited, Edited) and edited.addressed and not edited.known


@pytest.mark.parametrize(
    "more",
    [
        {"bot_id": "B9"},
        {"bot_profile": {"id": "B9"}},
        {"subtype": "bot_message", "username": "x"},
        {"user": "U0BOT"},
        {"user": "USLACKBOT"},
        {"user": None},
        {"subtype": "channel_join"},
        {"subtype": "channel_topic"},
        {"subtype": "thread_broadcast", "bot_id": "B9"},
        {"hidden": True},
    ],
)
def test_what_no_person_says_starts_nothing(more: Json) -> None:
    assert seen(message(channel_type="im", text="<@U0BOT> hi", **more), US) is None


@pytest.mark.parametrize("flag", [{"user_team": "T2"}, {"source_team": "T2"}, {"team": "T2"}, {"is_stranger": True}])
def test_people_of_other_workspaces_are_strangers(flag: Json) -> None:
    asked = seen(mention(**flag), US)
    assert isinstance(asked, Asked) and asked.stranger
    assert isinstance(same := seen(mention(user_team="T1", team="T1"), US), Asked) and not same.stranger


def test_somebody_presses_slacks_own_stop() -> None:
    pressed = {"type": "agent_session_stopped", "channel": "C1", "user": "U1", "event_ts": "3.1"}
    stop = seen(body(**pressed, thread_ts="1.1", streaming_message_ts=["2.1"]), US)
    assert stop == StopPressed(PLACE, "1.1", "U1", "3.1")
    assert seen(body(**pressed), US) is None  # a channel that is a session as a whole


def changed(text: str, before: str, **more: Any) -> Json:
    new = {"type": "message", "user": "U1", "ts": "1.1", "text": text, **more}
    old = {"type": "message", "user": "U1", "ts": "1.1", "text": before}
    said = {"type": "message", "subtype": "message_changed", "channel": "C1", "channel_type": "channel", "ts": "2.0"}
    return body(**said, message=new, previous_message=old, hidden=True)


def test_an_edit_of_a_question() -> None:
    edited = seen(changed("<@U0BOT> new", "<@U0BOT> old"), US)
    assert isinstance(edited, Edited) and edited.addressed
    assert (edited.message.message, edited.message.text) == ("1.1", "new")
    gone = seen(changed("never mind", "<@U0BOT> old"), US)
    assert isinstance(gone, Edited) and not gone.addressed
    assert seen(changed("<@U0BOT> same", "<@U0BOT> same"), US) is None  # a link was unfurled, a reply was posted
    assert seen(changed("new", "old"), US) is None
    assert seen(changed("<@U0BOT> new", "<@U0BOT> old", bot_id="B0BOT"), US) is None


def test_a_deleted_question() -> None:
    old = {"type": "message", "user": "U1", "ts": "1.1", "text": "<@U0BOT> hi"}
    gone = {"type": "message", "subtype": "message_deleted", "channel": "C1", "channel_type": "channel", "ts": "2.0"}
    deleted = seen(body(**gone, deleted_ts="1.1", previous_message=old, hidden=True), US)
    assert isinstance(deleted, Deleted) and deleted.message.message == "1.1"
    left = seen(changed("This message was deleted.", "<@U0BOT> hi", subtype="tombstone"), US)
    assert isinstance(left, Deleted) and left.message.message == "1.1"


@pytest.mark.parametrize(
    ("name", "vote"),
    [
        ("+1", "up"),
        ("thumbsup::skin-tone-5", "up"),
        ("-1", "down"),
        ("-1::skin-tone-2", "down"),
        ("thumbsdown::skin-tone-6", "down"),
        ("eyes", None),
    ],
)
def test_thumbs_of_any_colour_are_votes(name: str, vote: str | None) -> None:
    item = {"type": "message", "channel": "C1", "ts": "3.3"}
    for kind in ("reaction_added", "reaction_removed"):
        found = seen(body(type=kind, user="U1", reaction=name, item=item, item_user="U0BOT", event_ts="4"), US)
        if vote is None:
            assert found is None
            continue
        assert isinstance(found, Reacted) and (found.message, found.author, found.thumb) == ("3.3", "U1", vote)
        assert found.vote == (vote if kind == "reaction_added" else None)


def test_both_tabs_of_the_home_are_looked_at_by_somebody() -> None:
    assert seen(body(type="app_home_opened", user="U1", channel="D1", tab="home"), US) == HomeOpened("U1", "D1")
    assert seen(body(type="app_home_opened", user="U1", channel="D1", tab="messages"), US) == Welcomed("U1", "D1")
    assert seen(body(type="app_home_opened", user="U1", channel="D1", tab="about"), US) is None


def test_text_reads_as_people_see_it() -> None:
    said = "<@U0BOT> <@U2|ann>: see <https://a.example/x|the page> in <#C2|general> &lt;b&gt; &amp; <!here> <mailto:a@b.c|a@b.c>"
    assert readable(said, "U0BOT") == "@ann: see the page (https://a.example/x) in #general <b> & @here a@b.c"
    assert readable("<@U3> knows", names={"U3": "Bob"}) == "@Bob knows"
    assert (
        readable("<https://a.example/x>から、<http://b.example|b.example>。")
        == "https://a.example/x から、http://b.example。"
    )


@given(
    st.dictionaries(
        st.sampled_from(["type", "user", "channel", "ts", "thread_ts", "text", "subtype", "message", "item", "bot_id"]),
        st.none()
        | st.integers()
        | st.text(max_size=5)
        | st.sampled_from(["message", "app_mention", "reaction_added", "message_changed", "message_deleted"])
        | st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2),
    )
)
def test_no_payload_raises(event: Json) -> None:
    seen({"type": "event_callback", "event": event}, US)
    seen(event, US)
