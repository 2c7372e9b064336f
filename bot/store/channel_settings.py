"""Settings chosen for a channel over the general ones."""

from dataclasses import asdict
from datetime import UTC, datetime

from sqlalchemy import delete, select

from bot.store.engine import Store, at_place, execute, insert, rows
from bot.store.schema import places
from bot.types import Place, Preferences


class ChannelSettings(Store):
    """Preferences, one row a channel that has any. Source: product.md §1."""

    async def get(self, place: Place) -> Preferences:
        """The settings chosen there; all None where nothing was."""
        columns = (places.c.model, places.c.strategy, places.c.steps, places.c.collections, places.c.follow)
        found = await rows(self._engine, select(*columns).where(at_place(places, place)))
        if not found:
            return Preferences()
        row = found[0]
        chosen = tuple(row.collections) if row.collections is not None else None
        return Preferences(row.model, row.strategy, row.steps, chosen, row.follow)

    async def put(self, place: Place, chosen: Preferences) -> None:
        """Keep all of it, in place of what was chosen before. Raises StoreError."""
        if chosen == Preferences():
            await execute(self._engine, delete(places).where(at_place(places, place)))
            return
        values = {
            "model": chosen.model,
            "strategy": chosen.strategy,
            "steps": chosen.steps,
            "collections": list(chosen.collections) if chosen.collections is not None else None,
            "follow": chosen.follow,
            "changed_at": datetime.now(UTC),
        }
        key = asdict(place)
        kept = insert(self._engine, places).values(**key, **values)
        await execute(self._engine, kept.on_conflict_do_update(index_elements=list(key), set_=values))
