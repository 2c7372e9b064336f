"""Who may read what, and who may add for whom: every combination (R11, R19)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.access import default_scope, readers, role, scope_of, scopes, thread_scope, valid_scope
from bot.types import Actor, Audience, Place, Role, Visibility
from tests.bot.sample_turns import settings

HERE = Place("slack", "T1", "C1")
ELSEWHERE = Place("slack", "T1", "C2")
SCOPES = {
    "everyone": "everyone",
    "team": "team",
    "this place": "place:slack:T1:C1",
    "another channel": "place:slack:T1:C2",
    "another workspace": "place:slack:T2:C1",
    "another platform": "place:discord:T1:C1",
    "this thread": "thread:slack:T1:C1:17.5",
    "another thread": "thread:slack:T1:C1:17.6",
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


@pytest.mark.parametrize("visibility", READABLE)
@pytest.mark.parametrize("document", SCOPES)
def test_what_came_with_a_question_is_read_in_its_thread_only(visibility: Visibility, document: str) -> None:
    allowed = readers(HERE, Audience(visibility), "17.5").scopes
    assert (SCOPES[document] in allowed) == (document in READABLE[visibility] | {"this thread"})


# -- who may add for whom -------------------------------------------------------------------------------------------

EDITORS = settings(Path("home"), KOTAE_EDITORS="slack:U-editor, U-bare, discord:U-other")
PLACE_SCOPE = scope_of(HERE)
MAY_ADD: dict[tuple[Role, Visibility], tuple[str, ...]] = {
    ("outsider", "public"): (),
    ("outsider", "private"): (),
    ("outsider", "outsiders"): (),
    ("outsider", "unknown"): (),
    ("member", "public"): ("team",),
    ("member", "private"): (PLACE_SCOPE,),
    ("member", "outsiders"): (),
    ("member", "unknown"): (),
    ("editor", "public"): ("team", "everyone"),
    ("editor", "private"): (PLACE_SCOPE, "team", "everyone"),
    ("editor", "outsiders"): ("team", "everyone"),
    ("editor", "unknown"): ("team", "everyone"),
}


@pytest.mark.parametrize(("who", "visibility"), MAY_ADD)
def test_who_may_add_for_whom(who: Role, visibility: Visibility) -> None:
    actor = Actor("slack", "T1", "U1", who)
    assert scopes(actor, HERE, Audience(visibility), EDITORS) == MAY_ADD[who, visibility]


@pytest.mark.parametrize(
    ("actor", "expected"),
    [
        (Actor("slack", "T1", "U1"), "member"),
        (Actor("slack", "T1", "U1", "editor"), "editor"),
        (Actor("slack", "T1", "U-editor"), "editor"),
        (Actor("discord", "G1", "U-editor"), "member"),
        (Actor("slack", "T1", "U-bare"), "editor"),
        (Actor("slack", "T1", "U-other"), "member"),
        (Actor("slack", "T1", "U-editor", "outsider"), "outsider"),
    ],
)
def test_editors_are_named_by_the_platform_or_by_the_settings(actor: Actor, expected: Role) -> None:
    assert role(actor, EDITORS) == expected


parts = st.text(min_size=1, max_size=12)
places = st.builds(Place, parts, parts, parts)


@given(places, places)
def test_two_places_never_share_a_scope(one: Place, other: Place) -> None:
    assert (scope_of(one) == scope_of(other)) == (one == other)
    assert valid_scope(scope_of(one))


@given(places, parts, places, parts)
def test_two_threads_never_share_a_scope(one: Place, thread: str, other: Place, another: str) -> None:
    equal = (one, thread) == (other, another)
    assert (thread_scope(one, thread) == thread_scope(other, another)) == equal
    assert not valid_scope(thread_scope(one, thread))  # nobody chooses it


@pytest.mark.parametrize("text", ["everyone", "team", "place:slack:T1:C1", "place:terminal:local:console"])
def test_scopes_people_may_type(text: str) -> None:
    assert valid_scope(text)


@pytest.mark.parametrize(
    "text", ["", "Team", "all", "place", "place:", "place:slack", "place:slack:T1", "place:slack:T1:", "place:a:b:c:d",
             "place:a:b:c d", " team", "team\n"]
)  # fmt: skip
def test_scopes_that_are_none(text: str) -> None:
    assert not valid_scope(text)
