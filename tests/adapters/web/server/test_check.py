"""`kotae doctor` says beforehand where `kotae run` would not start."""

import fcntl
import socket
from contextlib import closing
from pathlib import Path

from adapters.web.server.check import CHECKS
from bot.config.settings import Settings
from bot.doctor.findings import Finding
from bot.doctor.run import examine
from tests.adapters.service import Service
from tests.bot.sample_turns import settings


async def looked(home: Path, **values: str) -> Finding:
    (found,) = await examine(Settings.model_validate({"KOTAE_HOME": str(home), **values}), CHECKS)
    return found


async def test_an_address_that_is_free(tmp_path: Path, unused_tcp_port: int) -> None:
    found = await looked(tmp_path, KOTAE_WEB_PORT=str(unused_tcp_port))
    assert found.level == "ok" and f"http://127.0.0.1:{unused_tcp_port}" in found.what.en


async def test_an_address_that_cannot_be_taken(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        found = await looked(tmp_path, KOTAE_WEB_PORT=str(other.getsockname()[1]))
    assert found.level == "fault" and found.todo is not None
    assert "in use by another program" in found.what.en and "使用中" in found.what.ja
    open_to_all = await looked(tmp_path, KOTAE_WEB_HOST="0.0.0.0")
    assert open_to_all.level == "fault" and "KOTAE_WEB_TOKEN" in open_to_all.what.ja
    assert "redacted" not in open_to_all.what.en  # the sentence itself looks like no secret
    no_name = await looked(tmp_path, KOTAE_WEB_HOST="127.0..1", KOTAE_WEB_TOKEN="t" * 32)
    assert no_name.level == "fault" and "KOTAE_WEB_HOST=127.0..1" in no_name.what.en


async def test_the_address_that_people_reach_it_at_is_tried(tmp_path: Path, unused_tcp_port: int) -> None:
    with Service(tmp_path / "home") as service:
        served, reached = await examine(settings(tmp_path / "home", KOTAE_WEB_URL=service.url), CHECKS)
        assert served.level == reached.level == "ok" and service.url in reached.what.en
        nowhere = f"http://127.0.0.1:{unused_tcp_port}"
        _, lost = await examine(settings(tmp_path / "home", KOTAE_WEB_URL=nowhere), CHECKS)
    assert lost.level == "warning" and lost.todo is not None and f"KOTAE_WEB_URL={nowhere}" in lost.what.ja


async def test_an_address_that_this_home_serves(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as ours, (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert (await looked(tmp_path, KOTAE_WEB_PORT=str(ours.getsockname()[1]))).level == "ok"
