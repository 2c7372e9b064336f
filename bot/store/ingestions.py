"""Files on their way into the knowledge: kept from the moment they are taken in until the person was shown every
verdict.

An open intake belongs to its owner until the lease on it passes (`bot.store.leases`). Source: reliability.md R3, R5 and
R44."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, select, update

from bot.errors import LostError
from bot.records import AuditRecord
from bot.store.audit import add_trace
from bot.store.engine import Store, change, execute, insert, look
from bot.store.leases import free, lease, present, renew, take
from bot.store.schema import intakes
from bot.types import FileRef, IngestionRequest, Place, Verdict


class IngestionStore(Store):
    """The intakes. Times are the caller's. All raise StoreError."""

    async def take(
        self,
        claim: str,
        intake: IngestionRequest,
        *,
        owner: str,
        now: datetime,
        until: datetime,
        admit: Callable[[IngestionRequest, int], IngestionRequest],
    ) -> IngestionRequest | None:
        """Take files in, once for what a person did (`claim`). None: taken already.

        `admit` is given the intake and how many files of this person wait in others, and refuses what is too much.
        """

        def take(db: Connection) -> IngestionRequest | None:
            admitted = admit(intake, _waiting(db, intake))
            added = insert(db, intakes).values(
                id=intake.id,
                claim=claim,
                **asdict(intake.place),
                thread=intake.thread,
                author=intake.author,
                collection=intake.collection,
                scope=intake.scope,
                language=intake.language,
                files=[_file(file) for file in admitted.files],
                done=False,
                owner=owner,
                lease_until=lease(db, now, until)[1],
                made_at=now,
            )
            added = added.on_conflict_do_nothing(index_elements=["claim"]).returning(intakes.c.id)
            return admitted if db.execute(added).first() is not None else None

        return await change(self._engine, take)

    async def claim_again(self, intake: str, *, owner: str, now: datetime, until: datetime) -> IngestionRequest | None:
        """Take an open intake that is this owner's, or nobody's any more. None: another has it, or it is done."""
        its = and_(intakes.c.id == intake, intakes.c.done.is_(False))
        row = await take(self._engine, intakes, its, owner=owner, now=now, until=until, again=True)
        return None if row is None else _intake(row)

    async def begin(self, intake: str, index: int, *, owner: str) -> int:
        """This file is being read now; how often it was begun before. Raises LostError."""

        def begin(db: Connection) -> int:
            files = _files(db, intake, owner)
            before: int = files[index].get("begun", 0)
            files[index]["begun"] = before + 1
            db.execute(update(intakes).where(intakes.c.id == intake).values(files=files))
            return before

        return await change(self._engine, begin)

    async def verdict(self, intake: str, index: int, verdict: Verdict, *, owner: str, trace: AuditRecord) -> None:
        """The verdict on a file, and the trace of it. Raises LostError."""

        def keep(db: Connection) -> None:
            files = _files(db, intake, owner)
            files[index]["verdict"] = asdict(verdict)
            db.execute(update(intakes).where(intakes.c.id == intake).values(files=files))
            add_trace(db, trace)

        await change(self._engine, keep)

    async def renew(self, intake: str, *, owner: str, now: datetime, until: datetime) -> None:
        """The owner is alive and still at it."""
        mine = and_(intakes.c.id == intake, intakes.c.owner == owner, intakes.c.done.is_(False))
        await renew(self._engine, intakes, mine, now, until)

    async def done(self, intake: str, *, owner: str) -> None:
        """All its files have their verdicts, and the person was shown them."""
        mine = update(intakes).where(intakes.c.id == intake, intakes.c.owner == owner)
        await execute(self._engine, mine.values(done=True, owner=None, lease_until=None))

    async def release(self, intake: str, *, owner: str, now: datetime) -> None:
        """Give it back: whoever looks for unfinished ones finds it at once."""
        mine = update(intakes).where(intakes.c.id == intake, intakes.c.owner == owner)
        await execute(self._engine, mine.values(owner=None, lease_until=now))

    async def unfinished(self, platform: str, *, now: datetime) -> list[IngestionRequest]:
        """The open intakes of a platform that nobody living holds, oldest first."""

        def unfinished(db: Connection) -> list[IngestionRequest]:
            its = (intakes.c.done.is_(False), intakes.c.platform == platform, free(intakes, present(db, now)))
            wanted = select(intakes).where(*its)
            return [_intake(row) for row in db.execute(wanted.order_by(intakes.c.made_at, intakes.c.id))]

        return await look(self._engine, unfinished)


def _waiting(db: Connection, intake: IngestionRequest) -> int:
    theirs: ColumnElement[bool] = and_(
        intakes.c.platform == intake.place.platform,
        intakes.c.workspace == intake.place.workspace,
        intakes.c.author == intake.author,
        intakes.c.done.is_(False),
    )
    return sum(not file.get("verdict") for files in db.scalars(select(intakes.c.files).where(theirs)) for file in files)


def _files(db: Connection, intake: str, owner: str) -> list[dict[str, Any]]:
    """For a change: the row is locked where the database locks rows."""
    mine = select(intakes.c.files).where(intakes.c.id == intake, intakes.c.owner == owner).with_for_update()
    files: list[dict[str, Any]] | None = db.scalar(mine)
    if files is None:
        raise LostError(intake)
    return files


def _file(file: FileRef) -> dict[str, Any]:
    kept = {"name": file.name, "ref": dict(file.ref), "over": file.over}
    return kept if file.verdict is None else kept | {"verdict": asdict(file.verdict)}


def _intake(row: Any) -> IngestionRequest:
    return IngestionRequest(
        id=row.id,
        place=Place(row.platform, row.workspace, row.channel),
        thread=row.thread,
        author=row.author,
        collection=row.collection,
        scope=row.scope,
        language=row.language,
        files=tuple(_ref(file) for file in row.files),
    )


def _ref(file: dict[str, Any]) -> FileRef:
    verdict = file.get("verdict")
    return FileRef(file["name"], file["ref"], Verdict(**verdict) if verdict else None, file.get("over", False))
