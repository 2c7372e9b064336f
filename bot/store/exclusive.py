"""Things that one process of a database does at a time, and who does them now."""

from datetime import datetime

from sqlalchemy import Connection, delete, or_

from bot.store.engine import Store, change, execute, insert
from bot.store.leases import lease
from bot.store.schema import leases


class Leases(Store):
    """All raise StoreError."""

    async def take(self, name: str, owner: str, *, now: datetime, until: datetime) -> bool:
        """Take it, or keep it, until then; False: another has it."""

        def take(db: Connection) -> bool:
            at, end = lease(db, now, until)
            given = insert(db, leases).values(name=name, owner=owner, until=end)
            free = or_(leases.c.owner == owner, leases.c.until <= at)
            taken = given.on_conflict_do_update(
                index_elements=["name"], set_={"owner": owner, "until": end}, where=free
            )
            return db.execute(taken.returning(leases.c.name)).first() is not None

        return await change(self._engine, take)

    async def give_back(self, name: str, owner: str) -> None:
        await execute(self._engine, delete(leases).where(leases.c.name == name, leases.c.owner == owner))
