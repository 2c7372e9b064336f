"""The files that start several processes say what Kotae's settings say. Whether Compose takes them is tried by hand."""

import re
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from bot.config.settings import unknown_names

ROOT = Path(__file__).parents[1]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())


def kotae() -> list[dict[str, Any]]:
    return [one for name, one in COMPOSE["services"].items() if name.startswith("kotae-")]


def test_every_process_has_the_same_settings_and_a_home_of_its_own() -> None:
    first, *others = kotae()
    assert others
    for other in others:
        assert other["environment"] == first["environment"] and other["volumes"] != first["volumes"]
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert all(re.search(rf"^# {name}=", example, re.MULTILINE) for name in first["environment"])
    assert {"DATABASE_URL", "QDRANT_URL", "KOTAE_WEB_TOKEN"} <= first["environment"].keys()


def test_what_compose_reads_is_explained_and_no_process_takes_it_for_a_mistyped_setting() -> None:
    """`.env` goes to each process whole."""
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    read = set(re.findall(r"\$\{(\w+)", (ROOT / "deploy" / "compose.yaml").read_text()))
    assert {"POSTGRES_PASSWORD", "SITE_ADDRESS"} <= read
    assert all(re.search(rf"^# .*\b{name}\b", example, re.MULTILINE) for name in read)
    assert unknown_names(dict.fromkeys(read, "set"), env_file=None) == {}


def test_all_that_is_named_is_there() -> None:
    services, volumes = COMPOSE["services"], COMPOSE["volumes"]
    for one in services.values():
        assert set(one.get("depends_on", ())) <= services.keys()
        for volume in one.get("volumes", ()):
            source = volume.partition(":")[0]
            assert source in volumes or (ROOT / "deploy" / source).exists(), volume
    assert (ROOT / kotae()[0]["build"]["dockerfile"]).exists()
    proxied = re.search(r"reverse_proxy (.+) \{", (ROOT / "deploy" / "Caddyfile").read_text())
    assert proxied and proxied[1].split() == [f"{name}:8080" for name in services if name.startswith("kotae-")]


def test_the_image_holds_no_secrets_and_nothing_that_was_said() -> None:
    """It is made of the folder that people work in, where settings and backups lie, too."""
    left_out = (ROOT / ".dockerignore").read_text().splitlines()
    assert {".env*", ".kotae", "*.tar.gz"} <= set(left_out)


def test_the_image_has_the_servers_clients() -> None:
    """`tests/test_locks.py` holds that the lock file has both."""
    assert re.search(r"^RUN make servers$", (ROOT / "deploy" / "Dockerfile").read_text(), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert "\nservers: .venv/installed-servers\n" in makefile
    assert "\n.venv/installed-%: requirements-%.lock requirements-pip.lock pyproject.toml\n" in makefile
