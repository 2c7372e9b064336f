"""The bundled model's tokens are those of the library that its tokenizer was written for."""

import json
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from retrieval.embeddings import bundled_e5
from retrieval.embeddings.unigram_tokenizer import Unigram

MOST = 32
CACHE = Path.home() / ".cache" / "kotae"  # where the product keeps it; made once per machine
SAMPLE = Path(__file__).parents[3] / "bot" / "sample"
ODD = ["<s>", "</s>", "<unk>", "<pad>", "<mask>", " ", "  ", "　", "\n", "\0", "\x01", "\u200b", "▁", "a", "e\u0301"]
ODD += ["㍻", "ﷺ", "ß", "한국", "ก็", "🙂", "ｶﾞ", "�", "\U0003fffd", "＜unk＞", "＜s＞"]

pytestmark = pytest.mark.skipif(not bundled_e5.available(), reason="the bundled weights exist for Linux on x86-64 only")


@pytest.fixture(scope="module")
def file() -> Path:
    return bundled_e5.prepare(CACHE) / "tokenizer.json"


@pytest.fixture(scope="module")
def unigram(file: Path) -> Unigram:
    return Unigram(file.parent, MOST)


@pytest.fixture(scope="module")
def library(file: Path) -> Tokenizer:
    return Tokenizer.from_file(str(file))


def written(file: Path, chance: random.Random) -> list[str]:
    pages = [page.read_text(encoding="utf-8") for page in sorted(SAMPLE.glob("*/*.md"))]
    return ["", *pages, *(page[at : at + 90] for page in pages for at in range(0, len(page), 90))]


def of_pieces(file: Path, chance: random.Random) -> list[str]:
    """All scripts."""
    vocabulary = json.loads(file.read_text(encoding="utf-8"))["model"]["vocab"]
    pieces = [piece.replace("▁", " ") for piece, _ in vocabulary]
    return ["".join(chance.choices(pieces, k=chance.randrange(30))) for _ in range(1_500)]


def of_anything(file: Path, chance: random.Random) -> list[str]:
    codes = [*range(0xD800), *(chance.randrange(0xE000, 0x110000) for _ in range(20_000))]
    return ["".join(map(chr, chance.choices(codes, k=chance.randrange(60)))) for _ in range(1_500)]


def of_what_is_odd(file: Path, chance: random.Random) -> list[str]:
    return ["".join(chance.choices(ODD, k=chance.randrange(12))) for _ in range(500)]


@pytest.mark.parametrize("make", [written, of_pieces, of_anything, of_what_is_odd])
def test_tokens_are_the_librarys(
    unigram: Unigram, library: Tokenizer, file: Path, make: Callable[[Path, random.Random], list[str]]
) -> None:
    texts = make(file, random.Random(7))
    library.no_truncation()
    library.no_padding()
    assert unigram.counts(texts) == [len(library.encode(text).ids) for text in texts]
    library.enable_truncation(MOST)
    assert [unigram.encode(text) for text in texts] == [library.encode(text).ids for text in texts]
    assert [unigram.counts([text])[0] for text in texts[:50]] == unigram.counts(texts[:50])


def test_nothing_is_no_text(unigram: Unigram) -> None:
    assert unigram.counts([]) == []


def test_a_page_in_one_line_takes_little_memory(unigram: Unigram) -> None:
    line = "".join(f"領収書を添えて経理部の{n}番へ提出してください。" for n in range(12_000))  # which has no space
    tracemalloc.start()
    try:
        assert unigram.counts([line])[0] > 100_000
        assert tracemalloc.get_traced_memory()[1] < 60 * 2**20
    finally:
        tracemalloc.stop()
