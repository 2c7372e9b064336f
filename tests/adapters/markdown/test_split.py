"""Parts of a text, read as Markdown, say what the text says: the same letters in the same form, in the same order."""

import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.cells import cell_len

from adapters.markdown.spans import scan, whole
from adapters.markdown.split import SMALLEST, split

MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def utf8_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


Told = tuple[str, str]  # a character, or a list's mark, and its form


def told(markdown: str) -> list[Told]:
    """Everything but blanks that Markdown shows of a text."""
    return list(_told(MARKDOWN.parse(markdown)))


def _told(tokens: Sequence[Token]) -> Iterator[Told]:
    around: list[str] = []
    numbers: list[int] = []
    for token in tokens:
        match token.type:
            case "ordered_list_open":
                numbers.append(int(token.attrGet("start") or 1))
            case "bullet_list_open":
                numbers.append(-1)
            case "ordered_list_close" | "bullet_list_close":
                numbers.pop()
            case "list_item_open":
                yield (f"{numbers[-1]}." if numbers[-1] >= 0 else "•", "item")
                numbers[-1] += numbers[-1] >= 0
            case "inline":
                yield from _styled(token.children or [], around)
            case "fence" | "code_block" | "html_block":
                yield from ((char, f"{token.type} {token.info}") for char in token.content if not char.isspace())
            case "heading_open" | "th_open" | "td_open" | "blockquote_open":
                around.append(token.tag)
            case "heading_close" | "th_close" | "td_close" | "blockquote_close":
                around.pop()
            case "hr":
                yield ("---", "hr")


def _styled(tokens: Sequence[Token], around: Sequence[str]) -> Iterator[Told]:
    styles = [*around]
    for token in tokens:
        match token.type:
            case "text" | "html_inline" | "text_special":
                yield from ((char, " ".join(styles)) for char in token.content if not char.isspace())
            case "code_inline":
                yield from ((char, " ".join([*styles, "code"])) for char in token.content if not char.isspace())
            case "image":
                yield (f"image {token.attrGet('src')} {token.content}", " ".join(styles))
            case "softbreak" | "hardbreak":
                pass
            case _ if token.nesting > 0:
                styles.append(f"{token.tag} {token.attrGet('href') or ''}")
            case _:
                styles.pop()


def joined(parts: Sequence[str]) -> list[Told]:
    """What the parts show together. A table's header that a part repeats is counted once."""
    told_by: list[Told] = []
    header: list[Told] = []
    for part in parts:
        shown = told(part)
        heads = [each for each in shown if "th" in each[1].split()]
        begins = shown[: len(heads)] == heads  # there is one table at the most with this header
        first = list(_first_header(shown))
        told_by += shown[len(first) :] if first and begins | bool(first) and first == header else shown
        header = list(_last_header(shown)) or header
    return told_by


def _first_header(shown: Sequence[Told]) -> Iterator[Told]:
    for each in shown:
        if "th" not in each[1].split():
            return
        yield each


def _last_header(shown: Sequence[Told]) -> Sequence[Told]:
    places = [at for at, each in enumerate(shown) if "th" in each[1].split()]
    if not places:
        return []
    last = first = places[-1]
    while first - 1 in places:
        first -= 1
    return shown[first : last + 1]


# -- what people and models write -----------------------------------------------------------------------------------

WORDS = (
    *(
        "refund",
        "takes",
        "thirty",
        "days",
        "a_b",
        "C#",
        "1.5",
        "2024/04/01",
        "e.g.",
        "<b>",
        "&amp;",
        "\\*",
        "[1]",
        "x=y",
    ),
    *(
        "有給休暇",
        "入社日",
        "付与します",
        "カタカナ",
        "です",
        "がぎぐ",
        "か\u3099",
        "👩\u200d👩\u200d👧\u200d👦",
        "🇯🇵🇫🇷",
        "👍🏽",
        "☎\ufe0f",
    ),
)
ENDS = (" ", " ", " ", "", ", ", ". ", "、", "。", "。[2] ", "！", "\n")
CODE = (
    "def f(x):",
    "    return x  # 返す",
    "",
    "| a | b |",
    "- no item",
    "# no heading",
    "**no bold**",
    "y" * 90,
    "値 = 1",
)


class Writer:
    """A writer with a random hand. Headers of tables differ."""

    def __init__(self, hand: random.Random) -> None:
        self._hand = hand
        self._tables = 0

    def text(self, blocks: int) -> str:
        return "\n\n".join(self._block(depth=0) for _ in range(blocks))

    def _block(self, depth: int) -> str:
        kinds: list[Callable[[int], str]] = [self._paragraph, self._paragraph, self._list, self._numbers, self._fence]
        if depth == 0:
            kinds += [self._heading, self._table, self._table, self._quote]
        return self._hand.choice(kinds)(depth)

    def _paragraph(self, depth: int) -> str:
        return self._line(self._hand.randrange(1, 60))

    def _heading(self, depth: int) -> str:
        return "#" * self._hand.randrange(1, 5) + " " + self._words(3)

    def _line(self, length: int) -> str:
        pieces: list[str] = []
        for _ in range(length):
            pieces += [self._piece(), self._hand.choice(ENDS)]
        return "Then " + "".join(pieces).replace("\n", "\nand ").strip() + " end."

    def _piece(self) -> str:
        if self._hand.random() < 0.5:
            return self._hand.choice(WORDS)
        code = self._hand.choice(["a  b", "x * y", "**", "[x]", "code span"])
        return self._hand.choice(
            [
                f" **{self._words(4)}** ",
                f" *{self._words(2)} **{self._words(2)}** x* ",
                f" ~~{self._words(3)}~~ ",
                f" `{code}` ",
                f" [{self._words(2)}](https://wiki.example/{self._hand.choice('abc')}_(x)?a=1) ",
                " <https://wiki.example/auto> ",
            ]
        )

    def _words(self, count: int) -> str:
        words = [word for word in WORDS if word.isalnum()]
        return " ".join(self._hand.choice(words) for _ in range(count))

    def _list(self, depth: int) -> str:
        return "\n".join(self._item("- ", depth) for _ in range(self._hand.randrange(1, 6)))

    def _numbers(self, depth: int) -> str:
        start, lazy = self._hand.randrange(0, 120), self._hand.random() < 0.3
        return "\n".join(
            self._item(f"{start if lazy else start + n}. ", depth) for n in range(self._hand.randrange(1, 6))
        )

    def _item(self, mark: str, depth: int) -> str:
        inside = [self._line(self._hand.randrange(1, 12))]
        if depth < 2 and self._hand.random() < 0.4:
            inside.append(self._block(depth + 1))
        indented = "\n\n".join(inside).replace("\n", "\n" + " " * len(mark))
        return mark + re.sub(r"\n[ ]+(?=\n)", "\n", indented)

    def _fence(self, depth: int) -> str:
        mark = self._hand.choice(["```", "~~~", "`````"])
        info = self._hand.choice(["", "python", "sh x=1"])
        return "\n".join([mark + info, *self._hand.choices(CODE, k=self._hand.randrange(0, 14)), mark])

    def _table(self, depth: int) -> str:
        self._tables += 1
        rows = [f"| {self._piece().replace('|', '')} | {self._words(3)} |" for _ in range(self._hand.randrange(1, 12))]
        return "\n".join([f"| n{self._tables} | 値 |", "|---|:-:|", *rows])

    def _quote(self, depth: int) -> str:
        return "> " + self._line(self._hand.randrange(3, 30)).replace("\n", "\n> ")


@given(st.integers(0, 10**9), st.integers(1, 9), st.integers(160, 900), st.sampled_from([len, utf8_length, cell_len]))
def test_the_parts_show_what_the_text_shows(seed: int, blocks: int, limit: int, measure: Callable[[str], int]) -> None:
    text = Writer(random.Random(seed)).text(blocks)
    parts = split(text, limit, measure=measure)
    assert all(0 < measure(part) <= limit for part in parts), [len(part) for part in parts]
    assert joined(parts) == told(text)


@given(
    st.text("ab あ。\n`*_~[](){}<>|-#>1.\\&;:!\t" + "👩\u200d\u3099\ufe0f🇯🇵", max_size=400), st.integers(SMALLEST, 120)
)
@example("```\n" + "\n" * 100, SMALLEST)
@example("`" * 200, SMALLEST)
@example("> " * 100 + "a", SMALLEST)
@example("*" * 50 + "a " * 100 + "*" * 50, SMALLEST)
@example("| a | b |\n|---|---|\n" + "|" * 100, SMALLEST)
@example("e" + "\u0301" * 100, SMALLEST)
@example("a\\\n" * 40, SMALLEST)
def test_whatever_is_written_nothing_is_lost(text: str, limit: int) -> None:
    parts = split(text, limit)
    assert all(0 < len(part) <= limit for part in parts)
    wanted = iter(re.sub(r"[\s>\\]", "", "".join(parts)))
    assert all(char in wanted for char in re.sub(r"[\s>\\\d.)]", "", text))  # in this order; lists may be renumbered
    for before, after in pairwise(parts):
        assert whole(before[-1] + after[0], 1) or limit < 2 * len("e" + "\u0301" * 100)


def test_a_short_text_is_one_part_and_blank_text_none() -> None:
    assert split("Short.\n", 100) == ["Short.\n"]
    assert split(" \n\u3000\n", 100) == []
    with pytest.raises(ValueError, match="at least 40"):
        split("Short.", 39)


def test_the_first_part_may_be_shorter() -> None:
    parts = split("One sentence here. " * 100, 1000, first=300)
    assert len(parts[0]) <= 300 < len(parts[1]) <= 1000


@pytest.mark.parametrize(
    ("text", "limit", "parts"),
    [
        ("A paragraph of text.\n\n## Heading\n\nAnother paragraph.", 45, ["A paragraph of text.", "## Heading\n\nAnother paragraph."]),
        ("First sentence is here. Second sentence is there.", 40, ["First sentence is here.", "Second sentence is there."]),
        ("一つ目の文です。[1] 「二つ目の文です。」三つ目の文はもう少し長いものにしました。" * 1, 40, ["一つ目の文です。[1] 「二つ目の文です。」", "三つ目の文はもう少し長いものにしました。"]),
        ("Before it:\n\n- item one is here\n- item two is here", 40, ["Before it:\n\n- item one is here", "- item two is here"]),
        ("```sh\n" + "a" * 30 + "\n" + "b" * 20 + "\n```", 50, ["```sh\n" + "a" * 30 + "\n```", "```sh\n" + "b" * 20 + "\n```"]),
        ("A text that is here. **A bold one, that goes on.**", 40, ["A text that is here.", "**A bold one, that goes on.**"]),
        ("**A bold text is here and it does go on.**", 40, ["**A bold text is here and it does go**", "**on.**"]),
        ("```\nnever closed", 40, ["```\nnever closed\n```"]),
        ("- ```\n  never closed\n\nAfter it, there is a text.", 40, ["- ```\n  never closed\n  ```", "After it, there is a text."]),
        ("> ```\n> never closed\n\n10. *", 99, ["> ```\n> never closed\n> ```\n\n10. *"]),
        ("1. one item\n1. two items\n1. three more items\n1. four", 40, ["1. one item\n1. two items", "3. three more items\n4. four"]),
    ],
)  # fmt: skip
def test_cuts_are_where_a_reader_wants_them(text: str, limit: int, parts: list[str]) -> None:
    assert split(text, limit) == parts


def test_a_fence_that_fits_stays_in_one_piece() -> None:
    fence = "```python\n" + "x = 1\n" * 12 + "```"
    assert split("Some words before it are here. " * 2 + "\n\n" + fence, 100)[-1] == fence


def test_what_alone_is_over_the_limit_is_cut_and_stays_whole_markup() -> None:
    link = f"[{'words ' * 20}end](https://wiki.example/a)"
    for text in ("`" + "code " * 30 + "`", "``" + "c`d " * 30 + "``", link, "**" + "b" * 150 + "**", "あ" * 150):
        parts = split(text, 60)
        assert len(parts) > 2 and all(len(part) <= 60 for part in parts)
        assert joined(parts) == told(text)


@pytest.mark.parametrize(
    "text",
    [
        "e\u0301" * 60,
        "👩\u200d👩\u200d👧\u200d👦" * 30,
        "🇯🇵" * 60,
        "☎\ufe0f" * 60,
        "👍🏽" * 60,
        "\u1112\u1161\u11ab" * 60,
        "ｶﾞ" * 60,
        "\ud83d\ude00" * 60,
        "🏴\U000e0067\U000e0062\U000e007f" * 30,
    ],
    ids=ascii,
)
def test_what_people_see_as_one_character_is_never_cut(text: str) -> None:
    one = text[: next(n for n in range(1, 20) if text[:n] * (len(text) // n) == text)]
    for limit in (41, 43, 47):
        parts = split(text, limit)
        assert "".join(parts) == text and all(len(part) % len(one) == 0 for part in parts)


def test_it_takes_linear_time() -> None:
    hand = random.Random(1)
    texts = {
        "all": Writer(hand).text(900)[:100_000],
        "prose": "これは文です。" * 14_000,
        "word": "a" * 100_000,
        "fence": "```\n" + "x" * 100_000 + "\n```",
        "brackets": "[" * 100_000,
        "emoji": "👩\u200d👩\u200d👧\u200d👦🇯🇵" * 11_000,
        "row": "| a | b |\n|---|---|\n| " + "word " * 20_000 + " | b |",
        "rows": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 10_000,
        "bold": "**" + "bold text. " * 9_000 + "**",
    }
    for name, text in texts.items():
        began = time.process_time()
        parts = split(text, 2000)
        assert time.process_time() - began < 8, name  # 0.1 to 0.5 s; what is quadratic takes minutes
        assert all(len(part) <= 2000 for part in parts) and len(parts) >= len(text) // 2000


def test_japanese_emphasis_without_blanks_is_emphasis() -> None:
    for text, sure in (
        ("**「有給」**です", (True, False)),
        ("**100%**です", (True, False)),
        ("は**太字**です", (True, True)),
    ):
        (found,) = scan(text).emphases
        assert (found.opens_surely, found.closes_surely) == sure
    assert not scan("2 ** 3 ** 4 and 5*6 and a_b_c").emphases


def test_spans_are_where_they_stand() -> None:
    text = r"`a` [b `c`](https://x.example/(y)) ![d](e) <https://f.example> <br> [1] \* &amp; https://g.example/h."
    spans = scan(text).spans
    kinds = ["code", "link", "image", "auto", "tag", "mark", "escape", "entity", "url"]
    assert [span.kind for span in spans] == kinds and spans[1].target == "https://x.example/(y)"
    shown = " ".join(text[span.start : span.end] for span in spans)
    assert shown + "." == text and all(a.end < b.start for a, b in pairwise(spans))
    assert "".join(chain(text[slice(*span.inner)] for span in spans[:3])) == "ab `c`d"
