"""Files that people give as datasets: kept while somebody looks at them or adds from them, no longer; in the home
beside an SQLite file, in the database on a server, so that another machine can go on with them."""

import asyncio
import uuid
from collections.abc import AsyncIterable, Collection
from dataclasses import replace
from pathlib import Path

from bot.knowledge.held_files import HeldFiles
from bot.store.dataset_jobs import DatasetUpload
from retrieval import disk
from retrieval.datasets import DatasetError, LocalSource
from retrieval.disk import Free
from retrieval.durable import make_folder, replacing
from retrieval.i18n import Text, os_reason
from retrieval.loaders.limits import MIB, size
from retrieval.loaders.sanitize import clean_line

__all__ = ["DatasetUpload", "DatasetUploads"]

LARGEST = 200 * MIB
SHARED = 128 * MIB  # of all that wait in a database on a server, chats' files too, which have room for as many more
RESERVE = 500 * MIB  # bytes that stay free on the disk

_NO_FILE = Text(
    en="This file is no longer here. Upload it again.",
    ja="このファイルはもうありません。もう一度アップロードしてください。",
)
_LARGE = Text(en="“{name}” is larger than {limit}.", ja="「{name}」が上限の {limit} を超えています。")
_MANY = Text(
    en="Too many files are waiting in the database. Upload this one when some of them have been added.",
    ja="データベースで待機中のファイルが多すぎます。ほかのファイルの追加が終わってから、もう一度アップロードしてください。",
)
_DISK = Text(
    en="Only {free} are free on the disk, and {needed} must stay free. Make room or choose fewer documents.",
    ja="ディスクの空きが {free} しかありません。{needed} は空けておく必要があります。空きを増やすか、"
    "件数を減らしてください。",
)
_WRITING = Text(
    en="The file could not be stored on the disk: {why}.", ja="ファイルをディスクに保存できませんでした: {why}"
)


class DatasetUploads:
    """The files of one home, or with `shared` of all machines: then its folder has copies of what is read here. `free`
    tells the bytes left on the disk of a folder."""

    def __init__(self, folder: Path, *, shared: HeldFiles | None = None, free: Free = disk.free) -> None:
        self._folder = folder
        self._shared = shared
        self._free = free

    async def keep(self, name: str, data: AsyncIterable[bytes]) -> DatasetUpload:
        """Raises DatasetError: too large, no space, too many that wait, no file that can be read row by row;
        StoreError."""
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
            await asyncio.to_thread((await self.source(file)).inspect)
            if self._shared is None:
                return file
            whole = await asyncio.to_thread(path.read_bytes)
            if await self._shared.size() + len(whole) > SHARED:
                raise DatasetError(_MANY)
            (key,) = await self._shared.keep([whole])
            shared = replace(file, id=key)
            path.replace(self._path(shared))
            return shared
        except BaseException as error:
            path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise DatasetError(_WRITING, why=os_reason(error)) from error
            raise

    async def source(self, file: DatasetUpload) -> LocalSource:
        """Raises DatasetError when it is gone; StoreError."""
        path = self._path(file)
        if not await asyncio.to_thread(path.is_file):
            data = await self._shared.get(path.name) if self._shared is not None else None
            if data is None:
                raise DatasetError(_NO_FILE)
            await asyncio.to_thread(self._copy, path, data)
        return LocalSource(path, file.name, file.columns, file.split)

    async def drop(self, file: DatasetUpload) -> None:
        """Raises StoreError."""
        path = self._path(file)
        await asyncio.to_thread(path.unlink, missing_ok=True)
        if self._shared is not None:
            await self._shared.drop([path.name])

    async def clear(self, wanted: Collection[DatasetUpload] = ()) -> None:
        """Delete from the folder all but these: what an earlier process has left."""
        await asyncio.to_thread(self._clear, {self._path(file) for file in wanted})

    def check_space(self) -> None:
        """Raises DatasetError when the disk is nearly full."""
        free = self._free(self._folder)
        if free < RESERVE:
            raise DatasetError(_DISK, free=size(free), needed=size(RESERVE))

    def _copy(self, path: Path, data: bytes) -> None:
        try:
            make_folder(self._folder)
            self.check_space()
            with replacing(path) as out:
                out.write(data)
        except OSError as error:
            raise DatasetError(_WRITING, why=os_reason(error)) from error

    def _clear(self, wanted: Collection[Path]) -> None:
        for path in self._folder.glob("*"):
            if path not in wanted:
                path.unlink(missing_ok=True)

    def _path(self, file: DatasetUpload) -> Path:
        return self._folder / uuid.UUID(file.id).hex
