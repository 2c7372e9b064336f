"""One name in two scripts."""

import pytest

from agent.grounding.check import check
from agent.grounding.transliteration import heard
from tests.agent.passages import HENKIN, hit


@pytest.mark.parametrize(
    ("name", "text", "same"),
    [
        ("Kuroda", "承認者は経理部の黒田部長です。", True),
        ("Tanaka", "承認者は経理部の黒田部長です。", False),
        ("Daniel", "受付のダニエルさんです。", True),
        ("Slack", "スラックで連絡します。", True),
        ("Zoom", "ズームで行います。", True),
        ("Server", "サーバーを再起動します。", True),
        ("Amazon", "グーグルで管理します。", False),
        ("黒田", "It needs approval from Ms. Kuroda.", True),
        ("田中", "It needs approval from Ms. Kuroda.", False),
    ],
)
def test_a_name_is_heard_in_the_other_script(name: str, text: str, same: bool) -> None:
    assert heard(name, text) is same


def test_people_are_compared_across_languages() -> None:
    right, wrong = "Refunds are handled by Mr. Tanaka.", "Refunds are handled by Mr. Kuroda."
    assert check("Ask Tanaka-san about refunds. [1]", {1: HENKIN}, "en", judged=False).objections == ()
    assert check("Ask Kuroda-san about refunds. [1]", {1: HENKIN}, "en").marked
    assert check(f"{right} [1]", {1: HENKIN}, "en", judged=False).objections == ()
    result = check(f"{wrong} [1]", {1: HENKIN}, "en", judged=False)
    assert (result.marked, [each.sentence for each in result.objections]) == ((wrong,), [wrong])


def test_what_is_written_in_katakana_is_no_other_product() -> None:
    kept = hit("パスワードはワンパスワードで管理します。")
    assert check("1Passwordで管理します。[1]", {1: kept}, "ja").text
    assert check("2Buckets7で管理します。[1]", {1: kept}, "ja").text == ""
