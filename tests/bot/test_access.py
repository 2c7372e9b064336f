"""The two tables of who may read what, every combination (R11)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.access import default_scope, readers, scope_of, valid_scope
from bot.messages import Audience, Place, Visibility

HERE = Place("slack", "T1", "C1")
ELSEWHERE = Place("slack", "T1", "C2")
SCOPES = {
    "everyone": "everyone",
    "team": "team",
    "this place": "place:slack:T1:C1",
    "another channel": "place:slack:T1:C2",
    "another workspace": "place:slack:T2:C1",
    "another platform": "place:discord:T1:C1",
}
READABLE: dict[Visibility, set[str]] = {
    "public": {"everyone", "team"},
    "private": {"everyone", "team", "this place"},
    "outsiders": {"everyone"},
    "unknown": {"everyone"},
}


@pytest.mark.parametrize("visibility", READABLE)
@pytest.mark.parametrize("document", SCOPES)
def test_a_reply_may_read_what_everyone_who_sees_it_may_read(visibility: Visibility, document: str) -> None:
    allowed = readers(HERE, Audience(visibility)).scopes
    assert (SCOPES[document] in allowed) == (document in READABLE[visibility])


@pytest.mark.parametrize(
    ("visibility", "scope"),
    [
        ("public", "team"),
        ("private", "place:slack:T1:C1"),
        ("outsiders", "place:slack:T1:C1"),
        ("unknown", "place:slack:T1:C1"),
    ],
)
def test_what_is_said_somewhere_belongs_there(visibility: Visibility, scope: str) -> None:
    assert default_scope(HERE, Audience(visibility)) == scope


@pytest.mark.parametrize("visibility", READABLE)
def test_what_is_added_in_a_private_place_is_read_nowhere_else(visibility: Visibility) -> None:
    assert default_scope(HERE, Audience("private")) not in readers(ELSEWHERE, Audience(visibility)).scopes


parts = st.text(min_size=1, max_size=12)
places = st.builds(Place, parts, parts, parts)


@given(places, places)
def test_two_places_never_share_a_scope(one: Place, other: Place) -> None:
    assert (scope_of(one) == scope_of(other)) == (one == other)
    assert valid_scope(scope_of(one))


@pytest.mark.parametrize("text", ["everyone", "team", "place:slack:T1:C1", "place:terminal:local:console"])
def test_scopes_people_may_type(text: str) -> None:
    assert valid_scope(text)


@pytest.mark.parametrize(
    "text", ["", "Team", "all", "place", "place:", "place:slack", "place:slack:T1", "place:slack:T1:", "place:a:b:c:d",
             "place:a:b:c d", " team", "team\n"]
)  # fmt: skip
def test_scopes_that_are_none(text: str) -> None:
    assert not valid_scope(text)
