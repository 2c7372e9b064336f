"""Questions closed as by somebody who dismisses them."""

from collections.abc import Collection
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncEngine

from bot.records import AuditRecord
from bot.store.notifications import Notices


async def resolve(engine: AsyncEngine, ids: Collection[int], scopes: Collection[str]) -> int:
    """Close those that readers of `scopes` may see; returns how many were open until now."""
    trace = AuditRecord("web:1", "dismiss", "", "closed")
    return len((await Notices(engine).close(ids, scopes, now=datetime.now(UTC), trace=trace)).ids)
