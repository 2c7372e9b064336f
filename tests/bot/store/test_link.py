"""The way to a server: encrypted as the settings want it, and given up in time, in words."""

import asyncio
import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url

from bot.config.settings import Settings
from bot.config.types import _database
from bot.database import database
from bot.errors import StoreError
from bot.store.engine import Engine, alone, at_leisure, change, connect, look, on_server, opened, rows, snapshot, write
from bot.store.erasure import compact
from bot.store.inspection import name_of, require_sessions, server_condition
from bot.store.link import ServerLink
from bot.store.locks import locked
from bot.store.outbox import Outbox
from bot.types import Place, Post
from migrations import MigrationError, upgrade
from tests.bot.postgresql import execute
from tests.fakes.postgresql import behind, pooled

SELF_SIGNED = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"


class Pair:
    """A server, and another that follows it."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._user = folder, "nobody" if os.geteuid() == 0 else None
        with socket.socket() as one, socket.socket() as other:
            for each in (one, other):
                each.bind(("127.0.0.1", 0))
            self.primary, self.standby = (each.getsockname()[1] for each in (one, other))
        if self._user:
            os.chown(folder, pwd.getpwnam(self._user).pw_uid, pwd.getpwnam(self._user).pw_gid)

    def _run(self, *command: str) -> None:
        subprocess.run(command, check=True, user=self._user, cwd=self._folder, capture_output=True, timeout=60)

    def _starts(self, port: int) -> None:
        options = f"-k {self._folder} -c listen_addresses=127.0.0.1 -p {port} -F"
        self._run("pg_ctl", "-D", str(port), "-w", "-o", options, "-l", f"{port}.log", "start")

    def begin(self) -> None:
        self._run("initdb", "-D", str(self.primary), "-U", "kotae", "-A", "trust", "-N")
        self._starts(self.primary)
        copied = ["-h", "127.0.0.1", "-U", "kotae", "-c", "fast", "-R", "-X", "stream", "-N"]
        self._run("pg_basebackup", *copied, "-p", str(self.primary), "-D", str(self.standby))
        self._starts(self.standby)

    def stops(self, port: int) -> None:
        self._run("pg_ctl", "-D", str(port), "-m", "immediate", "stop")

    def fails_over(self) -> None:
        self.stops(self.primary)
        self._run("pg_ctl", "-D", str(self.standby), "-w", "promote")

    def end(self) -> None:
        for port in (self.primary, self.standby):
            with suppress(subprocess.CalledProcessError):  # it has been stopped
                self.stops(port)


async def port_of(engine: Engine) -> int:
    """Of the server that answers."""
    return int((await rows(engine, text("SELECT inet_server_port() AS port")))[0].port)


@pytest.fixture(scope="module")
def tls(postgresql: str) -> Iterator[tuple[str, Path]]:
    """A server of its own that speaks TLS as localhost, and its certificate."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl here")
    with TemporaryDirectory(prefix="kotae-tls-") as name, socket.socket() as free:
        folder, user = Path(name), "nobody" if os.geteuid() == 0 else None
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        if user:
            os.chown(folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)

        def run(*command: str) -> None:
            subprocess.run(command, check=True, user=user, cwd=folder, capture_output=True, timeout=60)

        run("openssl", *SELF_SIGNED.split(), "-keyout", "key.pem", "-out", "cert.pem")
        run("initdb", "-D", "data", "-U", "kotae", "-A", "trust", "-N")
        options = f"-k {folder} -c listen_addresses=localhost -p {port} -F"
        files = f"ssl_cert_file='{folder}/cert.pem'\nssl_key_file='{folder}/key.pem'\n"
        with (folder / "data" / "postgresql.conf").open("a") as conf:
            conf.write(f"ssl=on\n{files}")
        free.close()
        run("pg_ctl", "-D", "data", "-w", "-o", options, "-l", "log", "start")
        try:
            yield f"postgresql+asyncpg://kotae@localhost:{port}/postgres", folder / "cert.pem"
        finally:
            run("pg_ctl", "-D", "data", "-m", "immediate", "stop")


async def encrypted(url: str, link: ServerLink) -> bool:
    engine = connect(url, link)
    try:
        ours = text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        return bool((await rows(engine, ours))[0].ssl)
    finally:
        await engine.dispose()


async def connecting(url: str, link: ServerLink) -> Any:
    """A connection of the driver."""
    there, given = make_url(url), link.arguments()
    make = given.pop("async_creator_fn")
    return await make(host=there.host, port=there.port, user=there.username, database=there.database, **given)


async def test_it_is_encrypted_as_the_settings_want_it(tls: tuple[str, Path]) -> None:
    url, certificate = tls
    for link, wanted in (
        (ServerLink(), True),
        (ServerLink(tls="off"), False),
        (ServerLink(tls="prefer"), True),
        (ServerLink(tls="require"), True),
        (ServerLink(tls="verify", ca=certificate), True),
    ):
        assert await encrypted(url, link) is wanted, link
    strangers = (ServerLink(tls="verify"), "localhost"), (ServerLink(tls="verify", ca=certificate), "127.0.0.1")
    for link, host in strangers:  # of no authority; of another host
        with pytest.raises(StoreError) as unknown:
            await encrypted(url.replace("localhost", host), link)
        assert "KOTAE_DATABASE_TLS" in unknown.value.text("en") and "KOTAE_DATABASE_CA" in unknown.value.text("ja")
    with pytest.raises(MigrationError, match="cannot be reached"):
        await asyncio.to_thread(upgrade, url, link=ServerLink(tls="verify").arguments())
    await asyncio.to_thread(upgrade, url, link=ServerLink(tls="verify", ca=certificate).arguments())


async def test_a_server_without_tls_is_refused_where_it_has_to_be(tls: tuple[str, Path]) -> None:
    url, _ = tls
    engine = connect(url, ServerLink(tls="off"))
    async with engine.connect() as db:
        await (await db.execution_options(isolation_level="AUTOCOMMIT")).execute(text("ALTER SYSTEM SET ssl = off"))
        await db.execute(text("SELECT pg_reload_conf()"))
    try:
        async with asyncio.timeout(10):
            while await encrypted(url, ServerLink(tls="prefer")):
                pass
        with pytest.raises(StoreError) as plain:
            await encrypted(url, ServerLink(tls="require"))
        assert "offers no TLS" in plain.value.text("en") and "対応していない" in plain.value.text("ja")
    finally:
        async with engine.connect() as db:
            await (await db.execution_options(isolation_level="AUTOCOMMIT")).execute(text("ALTER SYSTEM RESET ssl"))
            await db.execute(text("SELECT pg_reload_conf()"))
        await engine.dispose()


async def test_a_statement_has_an_end_but_cleaning_up_takes_as_long_as_it_takes(server_url: str) -> None:
    engine = connect(server_url, ServerLink(connections=1, statement_seconds=1))
    assert on_server(engine)
    shown = text("SELECT current_setting('statement_timeout') AS span, current_setting('application_name') AS name")
    assert [tuple(row) for row in await rows(engine, shown)] == [("1s", "kotae")]
    with pytest.raises(StoreError) as slow:
        await rows(engine, text("SELECT pg_sleep(30)"))
    assert "KOTAE_DATABASE_STATEMENT_TIMEOUT" in slow.value.text("en") and "秒数を超えた" in slow.value.text("ja")
    assert await compact(engine)
    assert (await rows(engine, shown))[0].span == "1s"
    await engine.dispose()


async def test_a_user_whom_the_server_gives_less_time_can_still_be_upgraded(postgresql: str) -> None:
    address = postgresql.format(name="postgres")
    execute(
        address,
        "CREATE ROLE hasty LOGIN",
        "CREATE DATABASE hasty OWNER hasty",
        "ALTER ROLE hasty SET statement_timeout = 1",
    )
    url = make_url(postgresql.format(name="hasty")).set(username="hasty")
    done = await asyncio.to_thread(upgrade, url.render_as_string(hide_password=False), link=ServerLink().arguments())
    assert done.before is None
    execute(address, "ALTER ROLE hasty SET default_transaction_read_only = on")
    found = await server_condition(url.render_as_string(hide_password=False), ServerLink())
    assert found.trouble == "read_only"


async def test_a_server_that_falls_silent_holds_up_nobody_for_ever(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.store.link.SILENT_SECONDS", 0)
    one = text("SELECT 1 AS n")
    with TemporaryDirectory(prefix="kotae-") as folder:  # a short path, for a socket
        async with behind(server_url, Path(folder)) as (url, network):
            engine = connect(url, ServerLink(statement_seconds=1, connect_seconds=1))
            await rows(engine, one)
            network.fall_silent()
            async with asyncio.timeout(15):
                with pytest.raises(StoreError, match="cannot be reached"):
                    await rows(engine, one)
            with pytest.raises(StoreError, match="cannot be reached"):
                async with write(engine) as db:
                    network.fall_silent()
                    await db.execute(one)
            async with locked(engine, "job"):
                network.fall_silent()
            assert (await rows(engine, one))[0].n == 1
            await engine.dispose()


async def test_what_is_done_at_leisure_has_no_end(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.store.link.SILENT_SECONDS", 0)
    engine = connect(server_url, ServerLink(statement_seconds=1))
    async with alone(engine, isolation_level="AUTOCOMMIT") as db:
        await db.execute(text("SET statement_timeout = 0"))
        await at_leisure(db, "SELECT pg_sleep(2)")
        with pytest.raises(StoreError):
            await at_leisure(db, "SELECT nothing")
    await engine.dispose()


async def test_a_server_that_does_not_answer_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"postgresql+asyncpg://u:CANARY@127.0.0.1:{silent.getsockname()[1]}/n"
        async with asyncio.timeout(10):
            with pytest.raises(StoreError) as away:
                await encrypted(url, replace(ServerLink(), connect_seconds=1))
    assert "cannot be reached" in away.value.text("en") and "CANARY" not in repr(away.value) + away.value.text("ja")


# -- connections that are cut ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [look, change])
async def test_what_was_cut_before_its_commit_is_done_once_more(server_url: str, kind: Callable[..., Any]) -> None:
    """By the server, which says so, and by something in between, which says nothing."""
    ends = text("SELECT pg_terminate_backend(pg_backend_pid())")
    with TemporaryDirectory(prefix="kotae-") as folder:  # a short path, for a socket
        async with behind(server_url, Path(folder)) as (url, network):
            engine, loop, tries = connect(url), asyncio.get_running_loop(), list[int]()

            def work(db: Connection, cut: Callable[[Connection], Any]) -> Any:
                tries.append(len(tries))
                if len(tries) == 1:
                    cut(db)
                return db.scalar(text("SELECT 7 FROM pg_sleep(0.05)"))

            for cut in (lambda db: db.execute(ends), lambda db: loop.call_soon_threadsafe(network.cut)):
                tries.clear()
                assert (await kind(engine, partial(work, cut=cut)), tries) == (7, [0, 1])
            with pytest.raises(StoreError, match="cannot be reached"):
                await kind(engine, lambda db: db.scalar(ends))  # each time
            await engine.dispose()


async def test_what_was_cut_in_its_commit_is_not_done_once_more(server_url: str) -> None:
    with TemporaryDirectory(prefix="kotae-") as folder:
        async with behind(server_url, Path(folder)) as (url, network):
            engine = connect(url)
            outbox, post = Outbox(engine), Post("digest:1", "card", 0, Place("slack", "T", "C"))
            network.loses_commit = True
            with pytest.raises(StoreError, match="cannot be reached"):
                await outbox.reserve(post)
            assert [one.about for one in await outbox.of("digest:1")] == ["digest:1"]  # not: it is there already
            await engine.dispose()


# -- a process that stands still, and a server that is not there any more ---------------------------------------------


async def test_a_process_that_stands_still_in_a_transaction_does_not_hold_up_the_others(server_url: str) -> None:
    still, other = connect(server_url, ServerLink(idle_seconds=1)), connect(server_url)
    change_it = text("UPDATE alembic_version SET version_num = version_num")
    with pytest.raises(StoreError) as lost:
        async with write(still) as db:
            await db.execute(change_it)
            assert (await change(other, lambda db: db.execute(change_it))).rowcount == 1  # it has waited for that row
            await db.execute(change_it)
    assert "cannot be reached" in lost.value.text("en")
    assert (await change(still, lambda db: db.execute(change_it))).rowcount == 1  # over another connection
    await still.dispose()
    await other.dispose()


async def test_a_backup_may_take_its_time(server_url: str) -> None:
    engine = connect(server_url)
    shown = text("SELECT current_setting('idle_in_transaction_session_timeout') AS span")
    assert (await rows(engine, shown))[0].span == "30s"
    async with snapshot(engine) as db:
        assert (await db.execute(shown)).scalar() == "0"
    assert (await rows(engine, shown))[0].span == "30s"
    await engine.dispose()


async def test_that_a_server_is_gone_is_noticed_in_half_a_minute(tls: tuple[str, Path]) -> None:
    made = await connecting(tls[0], ServerLink(tls="require"))
    line = made._transport.get_extra_info("socket")
    tcp = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")
    set_to = [line.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in tcp if hasattr(socket, name)]
    assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) and set_to == [10, 5, 3, 25_000][: len(set_to)]
    await made.close()


async def test_a_server_notices_in_half_a_minute_that_a_machine_is_gone(tls: tuple[str, Path]) -> None:
    engine = connect(tls[0])
    names = ("idle", "interval", "count")
    found = [(await rows(engine, text(f"SHOW tcp_keepalives_{name}")))[0][0] for name in names]
    assert found == ["10", "5", "3"]
    await engine.dispose()


@pytest.fixture
def pair(postgresql: str) -> Iterator[Pair]:
    if not shutil.which("pg_basebackup"):
        pytest.skip("no pg_basebackup here")
    with TemporaryDirectory(prefix="kotae-pair-") as name:
        made = Pair(Path(name))
        try:
            made.begin()
            yield made
        finally:
            made.end()


async def test_of_several_servers_the_one_that_can_be_written_to_is_used(pair: Pair) -> None:
    with socket.socket() as silent, socket.socket() as refusing:
        for each in (silent, refusing):
            each.bind(("127.0.0.1", 0))
        silent.listen()
        ports = [each.getsockname()[1] for each in (refusing, silent)] + [pair.standby, pair.primary]
        link = ServerLink(connections=2, connect_seconds=1)
        url = _database(f"postgresql://kotae:CANARY@{','.join(f'127.0.0.1:{port}' for port in ports)}/postgres")
        assert name_of(url) == f"{','.join(f'127.0.0.1:{port}' for port in ports)}/postgres"
        await asyncio.to_thread(upgrade, url, link=link.arguments())
        engine = connect(url, link)
        assert await port_of(engine) == pair.primary
        async with asyncio.timeout(0.9):  # the silent one is not asked again
            await asyncio.gather(*(port_of(engine) for _ in range(2)))

        pair.fails_over()
        async with asyncio.timeout(30):
            assert await port_of(engine) == pair.standby
        assert (await server_condition(url, link)).current
        pair.stops(pair.standby)
        with pytest.raises(StoreError, match="cannot be reached") as away:
            await server_condition(url, link)
        assert "CANARY" not in repr(away.value)
        await engine.dispose()


async def test_where_no_server_can_be_written_to_that_is_said(pair: Pair) -> None:
    url = _database(f"postgresql://kotae:CANARY@127.0.0.1:1,127.0.0.1:{pair.standby}/postgres")
    with pytest.raises(StoreError) as none:
        await server_condition(url, ServerLink())
    assert "read-only" in none.value.text("en") and "読み取り専用" in none.value.text("ja")
    with pytest.raises(MigrationError, match="cannot be written to"):
        await asyncio.to_thread(upgrade, url, link=ServerLink().arguments())


@pytest.mark.parametrize(
    "kind",
    [{}, {"keeps_statements_apart": False}, {"takes_limits": False}],
    ids=["one that keeps statements apart", "one that does not", "one that refuses the time limits"],
)
async def test_connections_that_share_a_session_are_refused_in_words(server_url: str, kind: dict[str, bool]) -> None:
    with TemporaryDirectory(prefix="kotae-pool-") as folder:
        async with pooled(server_url, Path(folder), **kind) as url:
            settings = Settings.model_validate({"KOTAE_HOME": f"{folder}/home", "DATABASE_URL": url})
            with pytest.raises(StoreError) as refused:
                async with database(settings):
                    pass
            assert "DATABASE_URL" in refused.value.text("en") and "セッション" in refused.value.text("ja")
            with pytest.raises(StoreError, match="session of their own"):
                await server_condition(url, settings.link)
    async with opened(server_url) as engine:
        await require_sessions(engine)
