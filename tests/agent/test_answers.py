"""Questions as colleagues put them, over the sample handbook and a page of other texts: what is quoted, what is not."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

from agent.asking import asked
from agent.extraction import compose
from agent.quoting import units
from agent.support import Quote
from retrieval.chunking import chunks
from retrieval.sparse import SparseEncoder
from retrieval.types import Document, Hit, Passage
from tests.agent.passages import hit

ENCODER = SparseEncoder()

CLOUD = """The cloud accounts are paid for by the platform team. Ask for an account in the
[cloud request
form](https://forms.corp.example/cloud), and wait for the welcome mail, which
takes about three days.

We recommend using [Terrashape](https://terrashape.example/), which is free and
runs everywhere. You can keep your state files in any bucket.

- Billing code for the accounts: **PLT-204**
- Questions: write to [cloud-desk@corp.example](mailto:cloud-desk@corp.example) or
  dial extension 4410

Start a shell on the jump host as follows:

```sh
hopper enter --region tokyo
```

If a machine behaves strangely, do not switch it off. Switching it off deletes
the traces.
"""
NAVIGATION = """# Cloud accounts

- [Cloud accounts](cloud.md)
- [Cloud request form](https://forms.corp.example/cloud)
- [Cloud billing](billing.md)

## See also

- Cloud accounts and cloud billing
"""
DRAWING = """Cloud accounts are connected like this:

```mermaid
graph LR
  account[Cloud account] --> billing[Cloud billing]
```
"""
FUROSHIKI = """ふろしきは、社内の荷物をまとめて送るための仕組みです。
総務の倉橋さんが毎朝集荷します。

プロジェクト: ふろしき

ふろしきの利用には、総務部の承認が必要です。申込書のあて先は furoshiki@corp.example です。1箱の集荷は15分ほどで終わります。
ふろしきに現金は入れられません。

以下のコマンドで送り状を印刷します:

`$ furoshiki print --last`

詳しい手順は以下のとおりです。
"""


@cache
def handbook(language: str) -> tuple[Passage, ...]:
    """The sample's pages, cut as the product cuts them."""
    made: list[Passage] = []
    for page in sorted((Path(str(files("bot"))) / "sample" / language).glob("*.md")):
        text = page.read_text(encoding="utf-8")
        title = text.splitlines()[0].lstrip("# ")
        for cut in chunks(Document(page.name, text, title), max_chars=2048, max_tokens=512, measure=len):
            made.append(
                Passage("handbook", page.name, page.name, cut.number, cut.text, "team", title, headings=cut.headings)
            )
    return tuple(made)


def found(question: str, language: str) -> list[Hit]:
    """The five passages with most of the question's words, as relevant as they have of them."""
    wanted = set(ENCODER.terms(question))
    ranked = sorted(
        (
            (len(wanted & set(ENCODER.terms(" ".join((p.title, *p.headings, p.text))))) / len(wanted), p)
            for p in handbook(language)
        ),
        key=lambda pair: -pair[0],
    )
    return [Hit(passage, {}, 0.3 + 0.6 * share) for share, passage in ranked[:5]]


def answers(question: str, hits: Sequence[Hit]) -> list[Quote]:
    return compose(question, hits, tokenise=ENCODER.terms)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("hey, which password manager are we supposed to use?", "Kagibako"),
        ("how soon do i have to report a security incident", "within 15 minutes"),
        ("should I leave my device switched on after I report an incident?", "Leave the device switched on"),
        ("what number do I call when my laptop gets stolen", "7700"),
        ("how many weeks of security fixes… I mean how many months do packages get security fixes?", "18 months"),
        ("what's the command for a rollback?", "hatoba rollback"),
        ("who decides go or no-go?", "release captain"),
        ("what time is the release branch cut on Monday", "16:00"),
        ("how long is an account locked after wrong attempts?", "30 minutes"),
        ("do passwords expire?", "Passwords do not expire."),
        ("are USB sticks allowed?", "USB sticks are blocked"),
        ("how often are laptops replaced", "every four years"),
        ("how much can I spend on mice and keyboards", "12,000 yen"),
        ("who speaks to the press about an incident?", "Ms. Kuroda"),
        ("how many reviews does a change need before it is merged", "Two reviews"),
        ("when do system updates install themselves?", "Thursday at 12:30"),
        ("by when must I return my equipment on the last day?", "15:00"),
        ("is being on call paid?", "25,000 yen a week"),
        ("what happens to the disk after I return my laptop", "90 days"),
    ],
)
def test_english_questions_about_the_sample(question: str, said: str) -> None:
    quotes = answers(question, found(question, "en"))
    assert said in "\n".join(quote.text for quote in quotes)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("リモートワークは週何日までできますか？", "週3日まで"),
        ("コアタイムは何時から何時まで？", "10時30分から15時"),
        ("夏季休暇は何日もらえますか？", "3日"),
        ("書籍は年間いくらまで買えますか", "3万円"),
        ("大阪市の宿泊費の上限っていくらですか？", "13,000円"),
        ("海外出張の申請はいつまで？", "4週間前"),
        ("経費の質問は誰が返信してくれますか", "相原"),
        ("試用期間はどのくらいですか", "3か月"),
        ("メンターは評価に関わりますか？", "評価には関わりません"),
        ("病気休暇ってありますか？", "病気休暇はありません"),
        ("介護休業は何日まで取れますか", "93日"),
        ("パスワード管理ツールの設定は入社から何営業日以内？", "3営業日"),
        ("打刻を忘れたらどうすればいいですか？", "修正申請"),
        ("年末年始の休みはいつからいつまでですか", "12月29日"),
        ("有給は時間単位で年に何時間まで取れますか？", "40時間"),
        ("日帰り出張の日当はいくら？", "1,500円"),
        ("領収書がいらないのはどんなときですか", "不要"),
        ("残業の上限は月何時間ですか", "30時間"),
    ],
)
def test_japanese_questions_about_the_sample(question: str, said: str) -> None:
    quotes = answers(question, found(question, "ja"))
    assert said in "\n".join(quote.text for quote in quotes)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("is there a company car program?", "en"),
        ("do we get free gym membership?", "en"),
        ("What's the wifi password for the Berlin office?", "en"),
        ("what is the email address of the legal team?", "en"),
        ("what does error 7319 mean", "en"),
        ("社員食堂のメニューを教えてください", "ja"),
        ("持株会の奨励金は何％ですか", "ja"),
        ("経理のメールアドレスは？", "ja"),
        ("2019年の忘年会の会場はどこですか", "ja"),
        ("夏季休暇は何日もらえますか？", "en"),
        ("駐車場の月額はいくらですか", "en"),
        ("社員食堂のメニューを教えてください", "en"),
        ("how much is the bonus in percent?", "ja"),
        ("what is the dress code in the Osaka canteen", "ja"),
    ],
)
def test_what_the_sample_does_not_say_is_not_answered(question: str, language: str) -> None:
    assert answers(question, found(question, language)) == []


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("which tool are we supposed to use for cloud accounts?", "We recommend using Terrashape, which is free"),
        ("what billing code do the cloud accounts use?", "PLT-204"),
        ("who do I email with questions on cloud accounts", "cloud-desk@corp.example"),
        ("what is the extension for cloud questions?", "4410"),
        ("how do I get a cloud account", "Ask for an account in the cloud request form, and wait for the welcome mail"),
        ("how long does a cloud account take?", "about three days"),
        ("command to start a shell on the jump host?", "hopper enter --region tokyo"),
        ("should i switch off a machine that behaves strangely", "do not switch it off"),
    ],
)
def test_wrapped_markdown_is_quoted_in_whole_sentences(question: str, said: str) -> None:
    quotes = answers(question, [hit(CLOUD, "cloud.md", title="Cloud accounts")])
    assert said in "\n".join(quote.text for quote in quotes)
    assert not any("](" in quote.text for quote in quotes)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("ふろしきって何ですか？", "ふろしきは、社内の荷物をまとめて送るための仕組みです。"),
        ("ふろしきは誰が承認しますか", "総務部の承認が必要です"),
        ("ふろしきの申込書を送るメールアドレスは？", "furoshiki@corp.example"),
        ("ふろしきの集荷は何分ですか？", "15分"),
        ("ふろしきで現金を送ってもいいですか？", "現金は入れられません"),
        ("ふろしきの送り状を印刷するコマンドを教えてください", "furoshiki print --last"),
    ],
)
def test_the_kind_of_answer_decides_among_sentences_on_the_same_thing(question: str, said: str) -> None:
    assert said in answers(question, [hit(FUROSHIKI, "furoshiki.md")])[0].text


def test_links_drawings_and_empty_introductions_are_no_answers() -> None:
    for page in (NAVIGATION, DRAWING):
        quotes = answers("what are cloud accounts?", [hit(page, "nav.md")])
        assert quotes == []
    texts = [quote.text for quote in answers("ふろしきの詳しい手順は？", [hit(FUROSHIKI, "furoshiki.md")])]
    assert "詳しい手順は以下のとおりです。" not in texts


def test_links_do_not_stand_in_front_of_a_page_that_answers() -> None:
    pages = [hit(NAVIGATION, f"nav{n}.md", relevance=0.95) for n in range(3)]
    quotes = answers("how long does a cloud account take?", [*pages, hit(CLOUD, "cloud.md", relevance=0.6)])
    assert "about three days" in quotes[0].text
    assert {quote.hit for quote in quotes} == {3}


def test_a_second_quotation_comes_from_no_page_in_another_language() -> None:
    english = hit("Offboarding begins at least two weeks before your last day.", "leaving.md", relevance=0.7)
    japanese = hit(
        "- オフボーディング: 担当は人事の小田さんです。\n- 備品: 担当は総務です。", "tantou.md", relevance=0.7
    )
    quotes = answers("how many weeks before my last day does offboarding begin?", [japanese, english])
    assert [quote.hit for quote in quotes] == [1]


@pytest.mark.parametrize(
    ("question", "page", "said"),
    [
        (
            "通勤の交通費補助はどうやって申し込みますか",
            "Everybody who takes the train to work can get the transit benefit. Enroll in the portal under Transit benefit.",
            "Enroll in the portal",
        ),
        (
            "名刺は作ってもらえますか？",
            "Coffee is free. Business cards are printed by the front desk; you can order 100 at a time.",
            "Business cards are printed",
        ),
        (
            "Can I keep my laptop when I leave?",
            "社員食堂は12時からです。退職するとき、3年以上使ったラップトップは持ち帰ることができます。",
            "3年以上使ったラップトップ",
        ),
        (
            "セキュリティ事故に気づいたら何時間以内に連絡が必要？",
            "Security incidents must be reported within one hour. Lunch breaks last one hour.",
            "within one hour",
        ),
    ],
)
def test_the_other_language_answers_where_words_are_shared(question: str, page: str, said: str) -> None:
    assert said in answers(question, [hit(page, "other.md")])[0].text


def test_lines_of_a_paragraph_are_joined_and_links_over_lines_are_understood() -> None:
    wrapped = "You will also need to apply for a [travel\ncard](/card/), and then\n[update your\nprofile](/profile/). This takes two weeks."
    assert [unit.text for unit in units(wrapped)] == [
        "You will also need to apply for a travel card, and then update your profile.",
        "This takes two weeks.",
    ]
    japanese = (
        "経費の精算は、支払日から三十日以内に経費システムで申請して\nください。領収書は原本をスキャンして添付します。"
    )
    assert units(japanese)[0].text.endswith("申請してください。")


def test_an_item_keeps_its_own_lines_its_nested_items_and_its_command() -> None:
    steps = "1. Open the disk:\n\n   ```sh\n   disk open\n   ```\n\n2. Choose a name that\n   nobody else has:\n   - short\n   - lower case\n"
    found_units = units(steps)
    assert [(unit.kind, unit.text) for unit in found_units] == [
        ("item", "Open the disk:"),
        ("code", "disk open"),
        ("item", "Choose a name that nobody else has:"),
        ("item", "short"),
        ("item", "lower case"),
    ]
    assert len({unit.group for unit in found_units}) == 1
    assert found_units[3].lead == "Choose a name that nobody else has:"


def test_how_long_wants_a_length_of_time() -> None:
    question = asked("カードの申請はどれくらいかかりますか")
    assert question.counter
    assert question.kinds[0] == "amount"
