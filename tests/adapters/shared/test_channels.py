"""A channel by its name: exactly one, or why not, with candidates in both languages."""

import pytest

from adapters.shared.channels import Named, UnclearError, find

GENERAL, QUIET = Named("C1", "general"), Named("C2", "quiet", inside=False)
JAPANESE = Named("C3", "全般ＱＡ")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("general", GENERAL), ("#general", GENERAL), (" #General ", GENERAL), ("quiet", QUIET), ("#全般QA", JAPANESE)],
)
def test_a_name_is_one_channel(wanted: str, found: Named) -> None:
    assert find(wanted, [GENERAL, QUIET, JAPANESE]) == found


def test_of_several_the_one_is_meant_that_the_bot_is_in() -> None:
    assert find("general", [Named("C8", "general", inside=False), GENERAL]) == GENERAL


@pytest.mark.parametrize(
    ("wanted", "channels", "said"),
    [
        (
            "genral",
            [GENERAL, QUIET],
            ("bot sees no channel", "could be one of: #general (C1)", "候補: #general (C1)。"),
        ),
        ("x", [GENERAL, QUIET, JAPANESE], ("#general (C1), #全般ＱＡ (C3).", "#general (C1)、#全般ＱＡ (C3)。")),
        ("x", [], ("of that name.", "見えません。")),
        ("x", [Named(f"C{n}", f"room-{n}") for n in range(9)], ("#room-4 (C4), +4.",)),
        (
            "general",
            [Named("1", "general", where="Harbour"), Named("2", "general", where="Pier")],
            ("several", "#general (Harbour, 1), #general (Pier, 2)", "複数あります", "#general (Harbour, 1)、"),
        ),
    ],
)
def test_what_is_not_one_channel_is_said_with_candidates(
    wanted: str, channels: list[Named], said: tuple[str, ...]
) -> None:
    with pytest.raises(UnclearError) as error:
        find(wanted, channels)
    for part in said:
        assert part in error.value.why.en + error.value.why.ja
    assert wanted in error.value.why.en and wanted in error.value.why.ja and str(error.value) == error.value.why.en
