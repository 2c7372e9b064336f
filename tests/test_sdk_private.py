"""The chat platforms' libraries are used by what they promise. What is not promised stands here with its reason and the
release it was read in: an update makes one look again."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SDKS = ("discord", "slack_bolt", "slack_sdk")
PINNED = {"discord-py": "2.7.1", "slack-bolt": "1.30.0", "slack-sdk": "3.47.0"}
INNER = re.compile(r"\._(?!_)|internals?\b|^discord\.(gateway|http|state)\b")
CLIENTS = {"http", "ws"}  # attributes of a discord.Client that no documentation has

_BUCKETS = "how many posts a channel takes at once is known nowhere else"
_GLOBAL = "a call that is cancelled while it waits for the global limit would leave discord.py's gate shut for ever"
_ROUTE = "the buckets' key; and threads are begun where only ids are known"
_EDITS = "PartialMessage.edit takes no flags, and without them an edit shows previews (R15)"
_LISTED = "tree.fetch_commands leaves the translations out"
_SERVERS = "another server than Discord's can be told to the whole library only"
_TOLD = "who may read and write in a channel is reckoned from servers that the gateway has told; another process is connected, or it tells of one no more"

_TWO = "Bolt's handler keeps one connection and acknowledges whatever happens; two are kept, and what is not stored is not (R1)"

ALLOWED = {
    "adapters/discord/transport/api.py": {
        "http": _EDITS,
        "_bucket_hashes": _BUCKETS,
        "_buckets": _BUCKETS,
        "_global_over": _GLOBAL,
        "discord.http.MultipartParameters": _EDITS,
        "discord.http.Ratelimit": _BUCKETS,
        "discord.http.Route": _ROUTE,
    },
    "adapters/discord/transport/gateway.py": {
        "http": _SERVERS,
        "discord.gateway.DiscordWebSocket": _SERVERS,
        "discord.http.Route": _SERVERS,
    },
    "adapters/discord/transport/registration.py": {"http": _LISTED, "discord.http.Route": _LISTED},
    "adapters/discord/transport/servers.py": {
        "http": _TOLD,
        "_connection": _TOLD,
        "_add_guild_from_data": _TOLD,
        "_remove_guild": _TOLD,
    },
    "adapters/slack/transport/socket_mode.py": {
        "slack_bolt.adapter.socket_mode.async_internals.send_async_response": _TWO,
        "slack_bolt.adapter.socket_mode.internals.build_headers": _TWO,
    },
}


def modules() -> list[Path]:
    return sorted(path for platform in ("discord", "slack") for path in (ROOT / "adapters" / platform).rglob("*.py"))


def reached_into(source: str) -> set[str]:
    """Private attributes of anything but `self` and `cls`, and what is in modules that are not for others."""
    tree = ast.parse(source)
    inside = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return {name for node in ast.walk(tree) if id(node) not in inside for name in _named(node) if _inner(name)} | {
        attribute for node in ast.walk(tree) for attribute in _attribute(node)
    }


def _named(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (name.name for name in names)
        case ast.ImportFrom(module=str(module), names=names):
            yield from (f"{module}.{name.name}" for name in names)
        case ast.Attribute():
            yield ast.unparse(node)


def _inner(name: str) -> bool:
    return name.split(".")[0] in SDKS and INNER.search(name) is not None


def _attribute(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Attribute(value=ast.Name(id="self" | "cls")):
            return
        case (
            ast.Attribute(attr=name)
            | ast.Call(args=[_, ast.Constant(value=str(name)), *_], func=ast.Name(id="getattr"))
        ):
            if name in CLIENTS or (name.startswith("_") and not name.startswith("__")):
                yield name


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_only_what_is_promised_is_used(path: Path) -> None:
    allowed = ALLOWED.get(path.relative_to(ROOT).as_posix(), {})
    assert reached_into(path.read_text(encoding="utf-8")) == set(allowed)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("client.http.token", {"http"}),
        ("self._client.http._buckets", {"http", "_buckets"}),
        ("getattr(app, '_listeners')", {"_listeners"}),
        ("import discord\ndiscord.http.Route('GET', '/')", {"http", "discord.http.Route"}),
        (
            "from slack_bolt.adapter.socket_mode.async_internals import run",
            {"slack_bolt.adapter.socket_mode.async_internals.run"},
        ),
        (
            "from slack_sdk.web.async_internal_utils import _files_to_data",
            {"slack_sdk.web.async_internal_utils._files_to_data"},
        ),
        ("self._own, row.public, other.__class__", set()),
    ],
)
def test_the_rule_sees(source: str, found: set[str]) -> None:
    assert reached_into(source) == found


def test_the_reasons_are_those_of_the_releases_that_are_installed() -> None:
    locked = dict(re.findall(r"^([a-z-]+)==([\w.]+)", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.M))
    assert {name: locked[name] for name in PINNED} == PINNED


def test_a_class_of_ours_shares_no_private_name_with_the_one_it_is_made_from() -> None:
    made = 0
    for path in modules():
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for ours in vars(module).values():
            if not inspect.isclass(ours) or ours.__module__ != module.__name__:
                continue
            theirs = {base for base in ours.__mro__ if base.__module__.split(".")[0] in SDKS}
            if theirs:
                made += 1
                known = {name for base in theirs for name in _private(base)}
                assert not _private(ours) & known, ours
    assert made


def _private(kind: type) -> set[str]:
    return set(re.findall(r"\bself\.(_[a-z]\w*)", inspect.getsource(kind)))
