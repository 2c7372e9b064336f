"""Statements of an answer held against a page that has changed."""

import pytest

from agent.grounding.outdated import recheck

PAGE = (
    "# Leave\n\nFull-time staff get **20 days** of paid leave a year. Unused days can be carried over until 31 March.\n\n"
    "Requests go to the team lead on Tuesdays.\n\n| City | Days |\n|---|---|\n| Paris | 22 |\n"
)
SAID = (
    "Full-time employees have 20 days of paid leave per year [1]. They can carry unused days over until 31 March [1].\n\n"
    "Requests are sent to the team lead [1]. The canteen opens at 11:30 [2]."
)
QUOTED = (
    "The documents say:\n\n**Leave**\n> Full-time staff get 20 days of paid leave a year. Unused days can be carried over "
    "until 31 March. [1]"
)
JA = "# 休暇\n\n正社員の有給休暇は年20日です。未使用分は翌年3月31日まで繰り越せます。\n\n申請は上長に行います。"
JA_SAID = (
    "正社員には年間20日の有給休暇があります[1]。使わなかった分は翌年3月31日まで繰り越すことができます[1]。"
    "申請先は上長です[1]。"
)


@pytest.mark.parametrize(
    ("said", "page", "old", "new", "found"),
    [
        (SAID, PAGE, "20 days", "25 days", [("20 days", "25 days")]),
        (QUOTED, PAGE, "20 days", "25 days", [("20 days", "25 days")]),
        (SAID, PAGE, "31 March", "30 June", [("31 March", "30 June")]),
        (
            SAID,
            PAGE,
            "can be carried",
            "cannot be carried",
            [("", "Unused days cannot be carried over until 31 March.")],
        ),
        (SAID, PAGE, "team lead", "director", [("", "Requests go to the director on Tuesdays.")]),
        (SAID, PAGE, "Unused days can be carried over until 31 March.", "", [("", "")]),
        (JA_SAID, JA, "20日", "25日", [("20日", "25日")]),
        (JA_SAID, JA, "上長", "人事部", [("", "申請は人事部に行います。")]),
        (JA_SAID, JA, "繰り越せます", "繰り越せません", [("", "未使用分は翌年3月31日まで繰り越せません。")]),
    ],
)
def test_a_statement_that_the_page_does_not_bear_out_is_found(
    said: str, page: str, old: str, new: str, found: list[tuple[str, str]]
) -> None:
    assert old in page
    outdated = recheck(said, {1}, page, page.replace(old, new)).outdated
    assert [(one.was, one.now) for one in outdated] == found


@pytest.mark.parametrize(
    ("said", "page", "old", "new"),
    [
        (SAID, PAGE, "**20 days**", "20 days"),
        (SAID, PAGE, " a year.", " a year!"),
        (SAID, PAGE, "| Paris | 22 |", "| Paris | 25 |"),
        (SAID, PAGE, "# Leave", "# Leave\n\nSick leave is 20 weeks.\n"),
        (QUOTED, PAGE, "\n\nRequests go to the team lead on Tuesdays.", ""),
        (JA_SAID, JA, "20日です。", "20日です．"),
        (JA_SAID, JA, "正社員", "**正社員**"),
    ],
)
def test_what_still_stands_or_was_never_said_is_not(said: str, page: str, old: str, new: str) -> None:
    assert old in page
    found = recheck(said, {1}, page, page.replace(old, new))
    assert found.outdated == () and found.quotes == ()


@pytest.mark.parametrize(
    ("said", "page", "old", "new"),
    [
        (SAID, PAGE, "Full-time staff get **20 days**", "Everybody who works full time receives 20 days"),
        (JA_SAID, JA, "正社員の有給休暇は年20日です", "正社員は年に20日の有給休暇を取得できます"),
    ],
)
def test_the_same_in_other_words_proves_it_and_is_what_is_quoted(said: str, page: str, old: str, new: str) -> None:
    found = recheck(said, {1}, page, page.replace(old, new))
    assert found.outdated == () and len(found.quotes) == 1 and found.quotes[0].startswith(new)


def test_a_statement_that_cites_another_page_does_not_rest_on_this_one() -> None:
    page = "The canteen opens at 11:30.\n"
    assert recheck(SAID, {1}, PAGE + page, PAGE + page.replace("11:30", "12:00")).outdated == ()
    (found,) = recheck(SAID, {2}, page, page.replace("11:30", "12:00")).outdated
    assert (found.was, found.now) == ("11:30", "12:00")
