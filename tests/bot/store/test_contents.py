"""Texts of documents on a server: there for whoever needs them, gone when nobody does, whoever else is at it."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.errors import ContentLostError
from bot.records import DocumentRow
from bot.store.contents import Contents, address_of, keep
from bot.store.documents import Documents
from bot.store.engine import change, connect, rows, write
from bot.store.schema import changed_documents, contents
from bot.store.schema import documents as documents_table
from bot.store.vector_stores import VectorStores
from tests.adapters.acting import until
from tests.bot.store.test_store import NOW, document

TEXT, OTHER = "# 計画\n\nThe harbour plan.\r\n", "# Other\n"


@pytest.fixture
async def server(server_url: str) -> AsyncIterator[AsyncEngine]:
    engine = connect(server_url)
    await VectorStores(engine).open("e5", 384, "t1")
    yield engine
    await engine.dispose()


def row(name: str, markdown: str) -> DocumentRow:
    return document(name).with_(markdown=address_of(markdown))


async def test_a_text_comes_with_its_row_and_goes_when_no_row_needs_it(server: AsyncEngine) -> None:
    documents, kept = Documents(server, "e5"), Contents(server)
    address = await kept.put(TEXT)
    with pytest.raises(ContentLostError):
        await kept.read(address)
    for number, name in enumerate(("a.md", "b.md")):
        await documents.commit(row(name, TEXT), generation=number + 1, markdown=TEXT)
    assert await kept.read(address) == TEXT and await kept.lost({address, "x" * 64}) == {"x" * 64}
    await documents.forget(row("a.md", TEXT).id, generation=3)
    await kept.drop(address)
    await kept.drop_all_but(())
    assert await kept.read(address) == TEXT
    await documents.commit(row("b.md", OTHER), generation=4, markdown=OTHER)
    cited = {"document": row("b.md", TEXT).id, "name": "b.md", "before": address, "at": NOW}
    await change(server, lambda db: db.execute(changed_documents.insert().values(**cited)))
    await kept.drop(address)  # what was cited is still to be compared
    assert await kept.read(address) == TEXT
    await documents.forget(row("b.md", OTHER).id, generation=5)
    await kept.drop(address)
    assert await Contents(server).there() == {address_of(OTHER)}
    await kept.drop_all_but(())
    assert await Contents(server).there() == set()


async def test_a_text_that_was_changed_is_lost_until_it_is_added_again(server: AsyncEngine) -> None:
    documents, kept = Documents(server, "e5"), Contents(server)
    await documents.commit(row("a.md", TEXT), generation=1, markdown=TEXT)
    await change(server, lambda db: db.execute(update(contents).values(data=b"# Changed")))
    with pytest.raises(ContentLostError):
        await kept.read(address_of(TEXT))
    assert await kept.lost({address_of(TEXT)}) == {address_of(TEXT)}
    await documents.commit(row("b.md", TEXT), generation=2, markdown=TEXT)
    assert await kept.read(address_of(TEXT)) == TEXT


@pytest.mark.parametrize("there", [True, False])
async def test_a_text_that_another_machine_is_about_to_need_stays(server: AsyncEngine, there: bool) -> None:
    """One machine no longer needs it, and waits for one that is in the middle of bringing it along."""
    other = connect(str(server.url.render_as_string(hide_password=False)))
    documents = Documents(server, "e5")
    if there:
        await documents.commit(row("a.md", TEXT), generation=1, markdown=TEXT)
        await documents.forget(row("a.md", TEXT).id, generation=2)
    try:
        async with write(other) as db:
            await db.run_sync(keep, address_of(TEXT), TEXT)
            dropping = asyncio.create_task(Contents(server).drop(address_of(TEXT)))
            if there:
                await until(lambda: _waits(server))
            values = {name: getattr(row("b.md", TEXT), name) for name in DocumentRow.__dataclass_fields__}
            await db.execute(documents_table.insert().values(**values))
        await dropping
    finally:
        await other.dispose()
    assert await Contents(server).there() == {address_of(TEXT)}


async def _waits(engine: AsyncEngine) -> bool:
    waiting = text(
        "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%contents%'"
    )
    return bool((await rows(engine, waiting))[0].n)
