"""Parquet out of pieces: the reader asks for the bytes it needs, so a file of gigabytes costs what is taken from it."""

import io
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

from retrieval.datasets import errors
from retrieval.datasets.errors import DatasetError
from retrieval.loaders.limits import MIB

_MAGIC = b"PAR1"
_BLOCK = MIB // 2
_KEPT = 16  # blocks: each column is read at its own place, in turns
_ROWS = 32  # decoded at once

Fetch = Callable[[int, int], bytes]


class Ranges:
    """A file that can be read anywhere, by blocks that `fetch(start, end)` brings; the last few are kept.

    What `fetch` raises is kept in `failure`: the Parquet reader turns it into words of its own.
    """

    def __init__(self, name: str, size: int, fetch: Fetch) -> None:
        self.name = name
        self.size = size
        self.failure: BaseException | None = None
        self._fetch = fetch
        self._at = 0
        self._blocks: OrderedDict[int, bytes] = OrderedDict()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self.size if size is None or size < 0 else min(self._at + size, self.size)
        if end <= self._at:
            return b""
        first, last = self._at // _BLOCK, (end - 1) // _BLOCK
        try:
            data = b"".join(self._wanted(first, last))
        except BaseException as error:
            self.failure = error
            raise
        start = self._at - first * _BLOCK
        data = data[start : start + end - self._at]
        self._at = end
        return data

    def _wanted(self, first: int, last: int) -> Iterator[bytes]:
        """The blocks from `first` to `last`; neighbours that are missing come in one piece."""
        number = first
        while number <= last:
            if number in self._blocks:
                self._blocks.move_to_end(number)
                yield self._blocks[number]
                number += 1
                continue
            until = number
            while until < last and until + 1 not in self._blocks:
                until += 1
            data = self._fetch(number * _BLOCK, min((until + 1) * _BLOCK, self.size))
            yield data
            for index in range(max(number, until - _KEPT + 1), until + 1):
                at = (index - number) * _BLOCK
                self._blocks[index] = data[at : at + _BLOCK]
            while len(self._blocks) > _KEPT:
                self._blocks.popitem(last=False)
            number = until + 1


def records(file: Ranges) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file in order, as Python values. Raises DatasetError, and what its `fetch` raises."""
    try:
        from arro3.io import read_parquet
    except ImportError as error:
        raise DatasetError(errors.LIBRARY) from error
    _check(file)
    with _Worded(file):
        batches = read_parquet(cast(IO[bytes], file), batch_size=_ROWS)
        names = list(batches.schema.names)
    while True:
        with _Worded(file):
            batch = next(batches, None)
            if batch is None:
                return
            columns = [batch.column(at).to_pylist() for at in range(len(names))]
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))


def _check(file: Ranges) -> None:
    """A page of a proxy under the name of the file ends here, in words: the reader would panic, which it also
    prints."""
    file.seek(0)
    start = file.read(4)
    file.seek(-8, io.SEEK_END)
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if start != _MAGIC or end[4:] != _MAGIC or length > file.size - 12:
        raise DatasetError(errors.DAMAGED, file=file.name)
    file.seek(0)


class _Worded:
    """The reader's errors are bare `Exception`s and panics (`BaseException`): ours instead, or what the file raised."""

    def __init__(self, file: Ranges) -> None:
        self._file = file

    def __enter__(self) -> None:
        self._file.failure = None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit | DatasetError):
            return
        if self._file.failure is not None:
            raise self._file.failure from None
        raise DatasetError(errors.DAMAGED, file=self._file.name) from error
