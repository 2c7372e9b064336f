"""The bundled model's tokens in a few megabytes: the `tokenizers` library makes a trie of hash tables of the 250,000
pieces, 280 MB that a bot without work would hold, and lets nothing else run for the half second that it takes.

Here the pieces are sorted 64-bit hashes, one array a length, written once and mapped into memory, and all substrings of
some texts are looked up at once. The tokens are the same (a test compares them); a substring is taken for a piece that
it is not once in 10¹³."""

import json
import re
import threading
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_UNKNOWN_PENALTY = 10.0  # Source: sentencepiece, unigram_model.cc, kUnkPenalty
_BEGIN, _, _END, _UNKNOWN = _SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
_SPECIALS = re.compile(f"({'|'.join(_SPECIAL)})")
_SPACE = "▁"
_SIEVE = np.uint64(64 - 21)  # of hashes, to see at once that most substrings are no piece
_AT_ONCE = 20_000  # characters, about
_REMEMBERED = 2_048  # words; of Japanese and Chinese what stands between two spaces
_HASHES, _PIECES, _SCORES, _ABOUT = "unigram-hashes.npy", "unigram-pieces.npy", "unigram-scores.npy", "unigram.json"


def write(folder: Path, pieces: Sequence[str], scores: Sequence[float]) -> None:
    """Writes the file that `Unigram` reads: the pieces' hashes and numbers by length, their scores by number. Raises
    OSError."""
    tables = list(_tables(pieces))
    np.save(folder / _HASHES, np.concatenate([hashes for hashes, _ in tables]))
    np.save(folder / _PIECES, np.concatenate([numbers for _, numbers in tables]))
    np.save(folder / _SCORES, np.array(scores, np.float64))
    about = {"sizes": [len(hashes) for hashes, _ in tables], "special": {one: pieces.index(one) for one in _SPECIAL}}
    (folder / _ABOUT).write_text(json.dumps(about), encoding="utf-8")


class Unigram:
    """XLM-RoBERTa's tokenizer, as `write` has left it. May be used from any thread."""

    def __init__(self, folder: Path, most: int) -> None:
        """`most`: tokens of an encoded text. Raises OSError, ValueError."""
        from tokenizers import Regex, normalizers

        hashes, pieces, scores = (_mapped(folder / name) for name in (_HASHES, _PIECES, _SCORES))
        about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        ends = np.cumsum(about["sizes"])[:-1]
        self._most = most
        self._known: dict[str, array[int]] = {}  # words, the latest last
        self._lock = threading.Lock()
        self._special = about["special"]
        self._unknown = self._special[_UNKNOWN]
        spaces = normalizers.Replace(Regex(" {2,}"), " ")
        self._normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
        self._tables = list(zip(np.split(hashes, ends), np.split(pieces, ends), strict=True))
        self._sieve = np.zeros(1 << 21, np.bool_)
        self._sieve[hashes >> _SIEVE] = True
        self._scores = scores
        self._unknown_score = float(scores.min()) - _UNKNOWN_PENALTY

    def encode(self, text: str) -> list[int]:
        """Cut where it is too long."""
        (ids,) = self._encode([text])
        return [self._special[_BEGIN], *ids[: self._most - 2], self._special[_END]]

    def counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each has, uncut."""
        return [len(ids) + 2 for ids in self._encode(texts)]

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Without what every text begins and ends with. No piece goes on behind a space, so words are encoded one by
        one, and the same ones are not encoded again: most of a text's, and all where it is asked for once more, by
        whoever cuts it, orders it or embeds it."""
        parts = [list(self._parts(text)) for text in texts]
        words = self._words(list(dict.fromkeys(part for some in parts for part in some if isinstance(part, str))))
        return [
            list(chain.from_iterable(words[part] if isinstance(part, str) else (part,) for part in some))
            for some in parts
        ]

    def _words(self, wanted: Sequence[str]) -> dict[str, "array[int]"]:
        """The tokens of each word; of those that were not asked for lately they are found."""
        found: dict[str, array[int]] = {}
        with self._lock:
            for word in wanted:
                if ids := self._known.pop(word, None):
                    found[word] = self._known[word] = ids  # the latest last
        new = [word for word in wanted if word not in found]
        for some in _some(new):
            found |= {
                word: array("I", ids)
                for word, ids in zip(some, self._best([_SPACE + word for word in some]), strict=True)
            }
        with self._lock:
            self._known |= {word: found[word] for word in new}
            for word in list(self._known)[: max(0, len(self._known) - _REMEMBERED)]:
                del self._known[word]
        return found

    def _parts(self, text: str) -> Iterator[str | int]:
        """The words of the normalised text, and between them the special tokens that somebody has written out."""
        for place, part in enumerate(_SPECIALS.split(text)):
            if place % 2:
                yield self._special[part]
            elif normal := self._normalizer.normalize_str(part) if part else "":
                for word in normal.replace(" ", _SPACE).removeprefix(_SPACE).split(_SPACE):
                    yield from (word[at : at + _AT_ONCE] for at in range(0, max(1, len(word)), _AT_ONCE))

    def _best(self, words: Sequence[str]) -> Iterator[list[int]]:
        """The most probable pieces of each."""
        starts, lengths, ids, scores = self._found("\0".join(words))
        sizes = [len(word) for word in words]
        behind = np.cumsum(sizes) + np.arange(len(sizes))
        begins = behind - sizes
        starts_in_word = starts - begins[np.searchsorted(begins, starts, "right") - 1]
        columns = [column.tolist() for column in (starts_in_word, starts_in_word + lengths, ids, scores)]
        places = zip(np.searchsorted(starts, begins).tolist(), np.searchsorted(starts, behind).tolist(), strict=True)
        for size, (first, last) in zip(sizes, places, strict=True):
            yield self._path(size, *(column[first:last] for column in columns))

    def _found(self, text: str) -> tuple[Numbers, Numbers, Numbers, Scores]:
        """All pieces in a text, in their order: where they start, how long they are, which, and their scores. A
        character that is none is an unknown one."""
        codes = _codes(text)
        hashes = np.zeros(len(codes) + 1, np.uint64)
        found: list[tuple[Numbers, Numbers, Numbers, Scores]] = []
        for length, (known, pieces) in enumerate(self._tables, 1):
            hashes = hashes[:-1] * _FACTOR + codes[length - 1 :]
            starts = np.flatnonzero(self._sieve[hashes >> _SIEVE])
            wanted = hashes[starts]
            at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            is_piece = known[at] == wanted
            starts, ids = starts[is_piece], pieces[at[is_piece]]
            found.append((starts, np.full(len(starts), length), ids, self._scores[ids]))
        no_piece = np.setdiff1d(np.arange(len(codes)), found[0][0], assume_unique=True)
        unknown, score = np.full_like(no_piece, self._unknown), np.full(len(no_piece), self._unknown_score)
        found.append((no_piece, np.ones_like(no_piece), unknown, score))
        starts, lengths, ids, scores = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.argsort(starts, kind="stable")
        return starts[order], lengths[order], ids[order], scores[order]

    def _path(
        self, size: int, starts: Sequence[int], ends: Sequence[int], ids: Sequence[int], scores: Sequence[float]
    ) -> list[int]:
        """Viterbi's: the pieces with the highest sum of scores that cover a text; unknown ones in a row are one."""
        best = [0.0] + [float("-inf")] * size
        came: list[tuple[int, int]] = [(0, 0)] * (size + 1)
        for start, end, piece, score in zip(starts, ends, ids, scores, strict=True):
            total = best[start] + score
            if total > best[end]:
                best[end] = total
                came[end] = start, piece
        path: list[int] = []
        while size:
            size, piece = came[size]
            if piece != self._unknown or path[-1:] != [piece]:
                path.append(piece)
        return path[::-1]


def _mapped(file: Path) -> npt.NDArray[Any]:
    """A plain array over the file's pages, which processes share and which are read when they are looked at."""
    return np.asarray(np.load(file, mmap_mode="r"))


def _tables(pieces: Sequence[str]) -> Iterator[tuple[Codes, Numbers]]:
    """For each length the hashes of its pieces, sorted, and which those are."""
    codes = _codes("".join(pieces))
    lengths = np.array([len(piece) for piece in pieces])
    starts = np.cumsum(lengths) - lengths
    for length in range(1, int(lengths.max()) + 1):
        which = np.flatnonzero(lengths == length)
        hashes = np.zeros(len(which), np.uint64)
        for place in range(length):
            hashes = hashes * _FACTOR + codes[starts[which] + place]
        order = np.argsort(hashes)
        yield hashes[order], which[order]


def _codes(text: str) -> Codes:
    return np.frombuffer(text.encode("utf-32-le"), "<u4").astype(np.uint64)


def _some(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Consecutive words, few enough for the arrays to stay small."""
    begin, characters = 0, 0
    for number, word in enumerate(words, 1):
        characters += len(word) + 1
        if characters > _AT_ONCE or number == len(words):
            yield words[begin:number]
            begin, characters = number, 0
