"""As a program, `python -m tests.retrieval.test_text` prints how many parsers the product has made by then, and how
many of them a first text would still change."""

import gc
from subprocess import PIPE
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.ruler import Ruler

from retrieval.text import sentences, unmarked
from tests.bot.program import Process, environment


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Q1. 駐輪場は？ A1. 地下です。", ["Q1. 駐輪場は？", "A1. 地下です。"]),
        ("12. First things first. Then rest.", ["12. First things first.", "Then rest."]),
        ("It is for Q1. What now?", ["It is for Q1.", "What now?"]),
        ("Yes. On Mondays.", ["Yes.", "On Mondays."]),
        ("At 3 p.m. CET it closes. Not at 5 p.m. The rest stays.", ["At 3 p.m. CET it closes.", "Not at 5 p.m.", "The rest stays."]),
    ],
)  # fmt: skip
def test_a_label_is_not_a_sentence_of_its_own(text: str, said: list[str]) -> None:
    assert sentences(text) == said


def test_a_row_in_one_line_has_its_bars_and_not_those_between_its_cells() -> None:
    assert unmarked("- one\n| --level | low\\|high |") == "one\n--level / low|high"


def test_no_parser_is_still_to_be_compiled_when_the_first_texts_come() -> None:
    with Process(env=environment(None), stdout=PIPE, module="tests.retrieval.test_text") as program:
        out, _ = program.communicate()
    made, unfinished = map(int, out.split())
    assert made >= 4 and not unfinished


def rulers(parser: MarkdownIt) -> list[Ruler[Any]]:
    return [parser.core.ruler, parser.block.ruler, parser.inline.ruler, parser.inline.ruler2]


def main() -> None:
    gc.unfreeze()
    parsers = [each for each in gc.get_objects() if isinstance(each, MarkdownIt)]
    print(len(parsers), sum(any(ruler.__cache__ is None for ruler in rulers(each)) for each in parsers))


if __name__ == "__main__":
    main()
