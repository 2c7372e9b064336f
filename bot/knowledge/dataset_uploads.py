"""Files that people give as datasets: kept on the disk while somebody looks at them or adds from them, no longer."""

import asyncio
import shutil
import uuid
from collections.abc import AsyncIterable
from dataclasses import dataclass
from pathlib import Path

from retrieval import disk
from retrieval.datasets import Columns, DatasetError, LocalSource, Split
from retrieval.disk import Free
from retrieval.durable import make_folder
from retrieval.i18n import Text
from retrieval.loaders.limits import MIB, size
from retrieval.loaders.sanitize import clean_line

LARGEST = 200 * MIB
RESERVE = 500 * MIB  # bytes that stay free on the disk

_NO_FILE = Text(
    en="This file is no longer here. Upload it again.",
    ja="このファイルはもうありません。もう一度アップロードしてください。",
)
_LARGE = Text(en="“{name}” is larger than {limit}.", ja="「{name}」が上限の {limit} を超えています。")
_DISK = Text(
    en="Only {free} are free on the disk, and {needed} must stay free. Make room or choose fewer documents.",
    ja="ディスクの空きが {free} しかありません。{needed} は空けておく必要があります。空きを増やすか、"
    "件数を減らしてください。",
)
_WRITING = Text(
    en="The file could not be stored on the disk: {why}.", ja="ファイルをディスクに保存できませんでした: {why}"
)


@dataclass(frozen=True, slots=True)
class DatasetUpload:
    """A file that was taken. `columns` and `split` None: as its inspection guesses; else as people chose."""

    id: str
    name: str
    columns: Columns | None = None
    split: Split | None = None


class DatasetUploads:
    """The files of one home. `free` tells the bytes left on the disk of a folder."""

    def __init__(self, folder: Path, *, free: Free = disk.free) -> None:
        self._folder = folder
        self._free = free

    async def keep(self, name: str, data: AsyncIterable[bytes]) -> DatasetUpload:
        """Raises DatasetError: too large, no space, no file that can be read row by row."""
        name = clean_line(Path(name.replace("\\", "/")).name, 200) or "?"
        file = DatasetUpload(uuid.uuid4().hex, name)
        path = self._path(file)
        try:
            await asyncio.to_thread(make_folder, self._folder)
            await asyncio.to_thread(self.check_space)
            with await asyncio.to_thread(path.open, "wb") as out:
                async for piece in data:
                    if out.tell() + len(piece) > LARGEST:
                        raise DatasetError(_LARGE, name=name, limit=size(LARGEST))
                    await asyncio.to_thread(out.write, piece)
            await asyncio.to_thread(self.source(file).inspect)
        except BaseException as error:
            path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise DatasetError(_WRITING, why=error.strerror or type(error).__name__) from error
            raise
        return file

    def source(self, file: DatasetUpload) -> LocalSource:
        """Raises DatasetError when it is gone."""
        path = self._path(file)
        if not path.is_file():
            raise DatasetError(_NO_FILE)
        return LocalSource(path, file.name, file.columns, file.split)

    async def drop(self, file: DatasetUpload) -> None:
        await asyncio.to_thread(self._path(file).unlink, missing_ok=True)

    async def clear(self) -> None:
        """Give all of them up: also those that an earlier process has left."""
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    def check_space(self) -> None:
        """Raises DatasetError when the disk is nearly full."""
        free = self._free(self._folder)
        if free < RESERVE:
            raise DatasetError(_DISK, free=size(free), needed=size(RESERVE))

    def _path(self, file: DatasetUpload) -> Path:
        return self._folder / uuid.UUID(file.id).hex
