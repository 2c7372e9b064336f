"""The way to a server: encrypted as the settings want it, and given up in time, in words."""

import asyncio
import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import text

from bot.errors import StoreError
from bot.store.engine import connect, on_server, rows
from bot.store.erasure import compact
from bot.store.link import ServerLink
from migrations import MigrationError, upgrade

SELF_SIGNED = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"


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
        assert "offers none" in plain.value.text("en") and "対応していない" in plain.value.text("ja")
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


async def test_a_server_that_does_not_answer_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"postgresql+asyncpg://u:CANARY@127.0.0.1:{silent.getsockname()[1]}/n"
        async with asyncio.timeout(10):
            with pytest.raises(StoreError) as away:
                await encrypted(url, replace(ServerLink(), connect_seconds=1))
    assert "cannot be reached" in away.value.text("en") and "CANARY" not in repr(away.value) + away.value.text("ja")
