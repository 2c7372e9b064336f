"""The contract for programs and the first minutes of a newcomer, through real processes."""

import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
import typer
from typer.main import get_command

from bot.cli import output
from bot.cli.commands import cli
from bot.cli.remote import OwnerRefusedError
from bot.cli.runtime import as_owner
from retrieval.folder import OwnedError, own
from tests.bot.config.test_settings import DISCORD
from tests.bot.program import PROGRAM, ROOT, Process, Warm, environment, kotae
from tests.bot.sources.conftest import Tree

HIT = {"collection", "document", "chunk", "relevance", "scores"}
OBEYING = (  # root reads what its mode forbids, unless it has given that away
    ["setpriv", *(f"--{which}=-dac_override,-dac_read_search" for which in ("bounding-set", "inh-caps"))]
    if os.geteuid() == 0
    else []
)
EVENTS: dict[str, set[str]] = {
    "thought": {"text"},
    "tool_call": {"name", "arguments"},
    "tool_result": {"name", "summary", "hits", "failed"},
    "draft": {"text"},
    "reflection": {"verdict", "text"},
    "answer": {"text", "outcome", "unsure", "citations", "model", "seconds"},
}


def check(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Every line follows the contract; returns the answer, which is the last and only one."""
    for event in events:
        assert event.keys() - {"type"} == EVENTS[event["type"]]
        for hit in event.get("hits", ()):
            assert hit.keys() == HIT and 0 <= hit["relevance"] <= 1
    assert [event["type"] for event in events].count("answer") == 1 and events[-1]["type"] == "answer"
    for number, citation in enumerate(events[-1]["citations"], 1):
        assert (
            citation.keys() == {"n", "document", "collection", "chunk", "quote", "url", "date"}
            and citation["n"] == number
        )
    return events[-1]


def open_turns(home: Path) -> list[str]:
    with closing(sqlite3.connect(home / "kotae.db")) as db:
        return [text for (text,) in db.execute("SELECT text FROM turns WHERE state != 'done'")]


# -- ask and chat ---------------------------------------------------------------------------------------------------


def test_an_answer_line_by_line(sample_home: Path) -> None:
    done = kotae("ask", "--json", "出張の日当はいくらですか？", home=sample_home)
    assert (done.returncode, done.stderr) == (0, "")
    answer = check(done.lines)
    kinds = [event["type"] for event in done.lines]
    assert kinds.index("thought") < kinds.index("tool_call") < kinds.index("tool_result") < kinds.index("draft")
    assert kinds.index("draft") < kinds.index("reflection") < kinds.index("answer")
    assert answer["outcome"] == "answered" and "2,500円" in answer["text"] and answer["model"] == "extractive"
    assert answer["citations"][0]["document"] == "ja/keihi-shuccho.md"
    assert answer["citations"][0]["collection"] == "sample" and answer["citations"][0]["quote"]


def test_not_found_is_status_3_and_a_miss(sample_home: Path, warm: Warm) -> None:
    question = "What did the zoo in Tromsø charge for a ticket in 1991?"
    done = warm("ask", question, "--json", home=sample_home)
    answer = check(done.lines)
    assert (done.returncode, answer["outcome"], answer["citations"]) == (3, "unknown", [])
    misses = warm("unanswered", "--json", home=sample_home).document
    assert misses.keys() == {"questions", "total", "hidden"}
    (miss,) = [one for one in misses["questions"] if one["question"] == question]
    assert miss["reason"] == "unknown" and miss["searched"] == ["sample"]


def test_what_only_a_language_model_could_do_is_declined_with_status_3(sample_home: Path, warm: Warm) -> None:
    done = warm("ask", "Write a haiku about autumn.", "--json", home=sample_home)
    assert done.returncode == 3 and check(done.lines)["outcome"] in ("declined", "unknown")


def test_a_conversation_from_a_pipe(sample_home: Path) -> None:
    done = kotae("chat", "--json", home=sample_home, lines="出張の日当はいくらですか？\nそれはいつ出ますか？\n")
    assert (done.returncode, done.stderr) == (0, "")
    ends = [n for n, event in enumerate(done.lines, 1) if event["type"] == "answer"]
    assert len(ends) == 2
    first, second = done.lines[: ends[0]], done.lines[ends[0] :]
    assert check(first)["outcome"] == "answered"
    check(second)
    calls = [event["arguments"]["query"] for event in second if event["type"] == "tool_call"]
    assert calls and "日当" in calls[0]  # what 「それ」 is


def test_a_conversation_in_words(sample_home: Path, warm: Warm) -> None:
    done = warm("chat", home=sample_home, lines="出張の日当はいくらですか？\n/sources\n/nonsense\n")
    assert (done.returncode, done.stderr) == (0, "")
    for part in (
        "[🧠 思考]",
        "[🛠️ ツール呼び出し]",
        "[📝 結果]",
        "[🤔 見直し]",
        "2,500円",
        "出典",
        "[1] 経費精算と出張",
    ):
        assert part in done.stdout
    assert "There is no command /nonsense" in done.stdout


def test_a_question_without_a_letter_has_steps_and_answer_in_one_language(sample_home: Path, warm: Warm) -> None:
    asked = warm("ask", "12 * 7", home=sample_home, LANG="ja_JP.UTF-8")
    assert asked.stdout.startswith("[🧠 思考] 計算")
    follows = warm("chat", home=sample_home, lines="出張の日当はいくらですか？\n12 * 7\n")
    assert "Thought" not in follows.stdout and "12 × 7 = 84" in follows.stdout


def test_a_reader_that_stops_reading_ends_it_quietly(sample_home: Path) -> None:
    question = "出張の日当は？ (head)"
    asking = Process("ask", question, env=environment(sample_home), stdout=PIPE, stderr=PIPE)
    assert asking.stdout and asking.stderr
    assert asking.stdout.readline()
    asking.stdout.close()
    said = asking.stderr.read().decode()
    assert asking.wait(timeout=60) in (0, 1) and "Traceback" not in said and "BrokenPipe" not in said
    asking.stderr.close()
    assert question not in open_turns(sample_home)


def test_a_home_whose_name_no_folder_can_have_is_a_wrong_setting(tmp_path: Path, warm: Warm) -> None:
    said = warm("documents", home=tmp_path / ("a" * 300), LANG="ja_JP.UTF-8").complaint(2)
    assert said.startswith("KOTAE_HOME") and said.endswith("名前が長すぎます")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("command", ["documents", "--help"])
def test_what_cannot_be_printed_is_said_and_python_says_nothing_of_its_own(sample_home: Path, command: str) -> None:
    def printed_to(descriptor: int) -> tuple[int, str]:
        with os.fdopen(descriptor, "wb") as to:
            run = subprocess.run(
                [*PROGRAM, command], env=environment(sample_home), cwd=ROOT, stdout=to, stderr=PIPE, text=True
            )
        return run.returncode, run.stderr

    assert printed_to(os.open("/dev/full", os.O_WRONLY)) == (1, "kotae: No space left on device\n")
    nobody, pipe = os.pipe()
    os.close(nobody)
    assert printed_to(pipe) == (1, "")


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_new_home_that_nobody_looks_at_stays_empty(tmp_path: Path, warm: Warm, more: tuple[str, ...]) -> None:
    done = warm("chat", *more, home=tmp_path / "home", lines="Hello!\n")
    assert done.returncode == 0 and "Hello! Ask me" in done.stdout
    assert warm("documents", "--json", home=tmp_path / "home").document == {"documents": []}


def test_the_sample_is_added_once_and_described_in_the_language_spoken(sample_home: Path, warm: Warm) -> None:
    documents = warm("documents", "--json", home=sample_home).document["documents"]
    pages = sorted(path.relative_to(ROOT / "bot/sample").as_posix() for path in (ROOT / "bot/sample").glob("*/*.md"))
    assert [one["name"] for one in documents] == pages and {one["collection"] for one in documents} == {"sample"}
    (info,) = warm("collections", "--json", home=sample_home).document["collections"]
    assert info["languages"] == ["en", "ja"] and info["documents"] == len(pages)
    assert info["description"].startswith("Sample handbook")


# -- documents ------------------------------------------------------------------------------------------------------


def test_a_folder_goes_in_twice_and_out_again(tmp_path: Path, warm: Warm) -> None:
    home, folder = tmp_path / "home", tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "harbour.md").write_text("# Harbour\n\nShips moor at pier seven until midnight.\n")
    (folder / "sub" / "港.txt").write_bytes("灯台の点検は毎月10日に行います。".encode("cp932"))
    (folder / "sub" / "faq.csv").write_text("question,answer\nWho owns the pier?,The city of Hama.\n")
    (folder / "mail.eml").write_text("Subject: no")
    (folder / ".hidden.md").write_text("# Hidden")
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.md")).write_text("# Café\n\nThe café opens at nine.\n")
    os.mkfifo(folder / "pipe")
    (folder / "passwd.md").symlink_to("/etc/passwd")
    first = kotae("ingest", folder, "--json", "--collection", "port", home=home)
    assert (first.returncode, first.stderr) == (0, "")
    assert {one["name"]: one["status"] for one in first.lines} == {
        "caf\ufffd.md": "added",
        "harbour.md": "added",
        "mail.eml": "refused",
        "passwd.md": "refused",
        "pipe": "refused",
        "sub/faq.csv": "added",
        "sub/港.txt": "added",
    }
    assert all(one["collection"] == "port" for one in first.lines)
    assert [bool(one.get("reason")) for one in first.lines].count(True) == 3
    assert "link out of the folder" in next(one["reason"] for one in first.lines if one["name"] == "passwd.md")
    (folder / "harbour.md").write_text("# Harbour\n\nShips moor at pier nine until midnight.\n")
    second = kotae("ingest", folder, "--collection", "port", home=home, LANG="ja_JP.UTF-8")
    assert (second.returncode, second.stderr) == (0, "")
    assert (
        sorted(line.split()[0] for line in second.stdout.splitlines()) == ["変更なし"] * 3 + ["更新"] + ["追加不可"] * 3
    )

    for mode in ("hybrid", "dense", "sparse"):
        results = warm("search", "pier nine", "--mode", mode, "--json", "--limit", "3", home=home).document["results"]
        assert len(results) <= 3
        assert {"collection", "document", "chunk", "text", "relevance", "scores"} <= results[0].keys()
    assert "港" in warm("search", "灯台の点検はいつ？", home=home).stdout
    assert "sub/faq.csv › Who owns the pier?" in warm("search", "Who owns the pier?", home=home).stdout

    listed = warm("documents", "--collection", "port", "--json", home=home).document["documents"]
    assert [one["name"] for one in listed] == sorted(one["name"] for one in listed) and len(listed) == 4
    assert warm("collections", "describe", "港湾", "港のこと", home=home).returncode == 0
    merged = warm("collections", "merge", "port", "港湾", home=home)
    assert (merged.returncode, merged.stdout) == (0, "4 documents moved.\n")
    (info,) = warm("collections", "--json", home=home).document["collections"]
    assert (info["name"], info["description"], info["documents"]) == ("港湾", "港のこと", 4)

    short = next(one["id"] for one in listed if one["name"] == "harbour.md")[:8]
    gone = warm("forget", short, "sub/faq.csv", "nothing.md", "--json", home=home)
    assert gone.returncode == 1 and [len(one["forgotten"]) for one in gone.lines] == [1, 1, 0]
    metrics = warm("metrics", "--json", "--export", tmp_path / "m.jsonl", "--clear", home=home).document
    assert metrics["searches"]["total"] == 5 == len((tmp_path / "m.jsonl").read_text().splitlines())
    assert warm("metrics", "--json", home=home).document["searches"]["total"] == 0
    assert warm("collections", "delete", "港湾", home=home).stdout == "2 documents forgotten.\n"
    assert warm("documents", "--json", home=home).document == {"documents": []}
    assert list((home / "documents").rglob("*.md")) == []
    refused = warm("ingest", folder / "mail.eml", folder / "gone.md", folder / "pipe", home=home)
    assert refused.returncode == 1 and refused.stdout.count("refused") == 3 and not refused.stderr


def test_where_no_files_are_is_named(tmp_path: Path, warm: Warm) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    said = warm("ingest", empty, home=tmp_path / "home")
    assert said.returncode == 1 and said.stderr == f"kotae: There are no files in {empty}.\n"


def test_what_is_gone_from_a_folder_is_said_and_forgotten_when_that_is_wanted(tmp_path: Path, warm: Warm) -> None:
    home, folder, other = tmp_path / "home", tmp_path / "docs", tmp_path / "other"
    for place, names in ((folder, ("a.md", "b.md", "c.md", "d.md", "e.md")), (other, ("f.md", "only.md"))):
        place.mkdir()
        for name in names:
            (place / name).write_text(f"# {name}\n\nShip {name} moors at pier seven.\n")
    warm("ingest", folder, other, "--collection", "port", home=home)
    warm("ingest", folder, "--collection", "more", home=home)
    warm("ingest", folder, "--collection", "port", "--scope", "everyone", home=home)
    (tmp_path / "b.md").write_text("# b.md\n\nShip b.md moors at pier nine.\n")
    warm("ingest", tmp_path / "b.md", "--collection", "port", home=home)  # somebody puts another in its place
    for name in ("a.md", "b.md", "c.md"):
        (folder / name).unlink()
    (folder / "e.md").rename(folder / "e.eml")
    (other / "only.md").unlink()
    link = tmp_path / "link"
    link.symlink_to(folder)

    def gone(*arguments: str | Path) -> list[tuple[str, bool]]:
        lines = warm("ingest", *arguments, "--collection", "port", "--json", home=home).lines
        return [(one["name"], one["forgotten"]) for one in lines if one["status"] == "gone"]

    assert gone(link) == [("a.md", False), ("c.md", False), ("e.md", False)]
    said = warm("ingest", folder, "--collection", "port", home=home, LANG="ja_JP.UTF-8")
    assert said.stdout.count("フォルダーになし  ") == 3 and "--prune を付けると削除します" in said.stdout
    empty = tmp_path / "empty"
    folder.rename(empty)
    folder.mkdir()  # as a disk that is away
    away = warm("ingest", folder, other / "f.md", "--collection", "port", "--prune", home=home)
    assert away.returncode == 0 and "not known what is gone" in away.stderr
    folder.rmdir()
    empty.rename(folder)
    assert gone(folder, "--prune") == [("a.md", True), ("c.md", True), ("e.md", True)]
    assert gone(folder) == []
    left = warm("documents", "--json", home=home).document["documents"]
    assert sorted((one["collection"], one["scope"], one["name"]) for one in left) == [
        *(("more", "team", f"{name}.md") for name in "abcde"),
        *(("port", "everyone", f"{name}.md") for name in "abcde"),
        *(("port", "team", f"{name}.md") for name in ("b", "d", "f", "only")),
    ]
    around = warm("ingest", tmp_path, "--collection", "all", "--json", home=home).lines
    assert not any(one["name"].startswith(("home/documents/", "home/vectors/")) for one in around)


def test_what_may_not_be_read_has_its_own_verdict(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "closed").mkdir(parents=True)
    for name in ("harbour.md", "mine.md", "closed/in it.md"):
        (folder / name).write_text("# Harbour\n\nShips moor at pier seven.\n")
    for name in ("mine.md", "closed"):
        (folder / name).chmod(0)
    paths = [folder / name for name in ("harbour.md", "mine.md", "closed/in it.md", "x" * 300)]
    env = environment(tmp_path / "home", LANG="ja_JP.UTF-8")
    done = subprocess.run([*OBEYING, *PROGRAM, "ingest", "--json", *paths], env=env, cwd=ROOT, capture_output=True)
    score = subprocess.run([*OBEYING, *PROGRAM, "evaluate", folder / "closed"], env=env, cwd=ROOT, capture_output=True)
    (folder / "closed").chmod(0o700)
    assert (done.returncode, done.stderr) == (0, b"")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["status"], one.get("reason", "")) for one in told] == [
        ("added", ""),
        *[("refused", "開けません: アクセス権がありません")] * 2,
        ("refused", "開けません: 名前が長すぎます"),
    ]
    assert score.returncode == 2 and "アクセス権がありません" in score.stderr.decode()


# -- refusals in words ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["ask", " "], "empty"),
        (["ask", "x", "--collection", "nope"], "nope"),
        (["ask", "x", "--strategy", "nope"], "nope"),
        (["ask", "x", "--model", "nope:x"], "nope:x"),
        (["ask", "x", "--model", "gemini:x"], "GEMINI_API_KEY"),
        (["ask", "x", "--model", "openai:x"], "OPENAI_BASE_URL"),
        (["search", " "], "empty"),
        (["search", "x", "--mode", "nope"], "hybrid"),
        (["documents", "--collection", "nope"], "nope"),
        (["collections", "merge", "nope", "sample"], "nope"),
        (["ingest", "README.md", "--scope", "nope"], "nope"),
        (["source", "add", "folder", ".", "--scope", "nope"], "nope"),
        (["source", "add", "folder", ""], "empty"),
        (["ingest", "README.md", ""], "empty"),
    ],
)
def test_what_cannot_be_is_status_2_and_says_why(
    sample_home: Path, warm: Warm, arguments: list[str], named: str
) -> None:
    said = warm(*arguments, home=sample_home).complaint(2)
    assert named in said and len(said.splitlines()) == 1


def test_all_wrong_settings_are_named_at_once(tmp_path: Path) -> None:
    wrong: dict[str, Any] = {"KOTAE_SEARCH_LIMIT": "many", "KOTAE_FUSION": "x", "SLACK_BOT_TOKEN": "xoxb-1-2-canary"}
    said = kotae("documents", home=tmp_path / "home", **wrong).complaint(2)
    assert all(name in said for name in ("KOTAE_SEARCH_LIMIT", "KOTAE_FUSION", "SLACK_APP_TOKEN"))
    assert "canary" not in said and not (tmp_path / "home").exists()
    spoken = kotae("documents", home=tmp_path / "home", LANG="ja_JP.UTF-8", **wrong).complaint(2)
    assert "KOTAE_FUSION に使える値: dbsf、rrf（" in spoken


def test_one_server_and_one_collection_are_lists_too(tmp_path: Path) -> None:
    one: dict[str, Any] = {
        "DISCORD_TOKEN": DISCORD,
        "KOTAE_DISCORD_GUILDS": "1187654321098765432",
        "KOTAE_COLLECTIONS": "2024",
    }
    assert kotae("documents", "--json", home=tmp_path / "home", **one).document == {"documents": []}


def test_a_home_of_nobody_is_a_folder_that_is_not_there(tmp_path: Path, warm: Warm) -> None:
    assert "~nosuchuser" in warm("source", "add", "folder", "~nosuchuser/x", home=tmp_path / "home").complaint(1)


def test_a_repository_is_named_by_where_one_is(tmp_path: Path, warm: Warm) -> None:
    repository = Tree(tmp_path / "at" / "wiki", "git")
    repository.write(a_md="# Harbour\n\nPier nine is open.\n")
    for place in ("./wiki", "wiki"):
        where: dict[str, Any] = {"home": tmp_path / "home", "cwd": tmp_path / "at"}
        added = warm("source", "add", "git", place, "--json", **where).document
        assert (added["name"], added["location"]) == ("wiki", str(repository.path))


def test_whoever_has_the_home_changes_each_source_of_it(tmp_path: Path, warm: Warm) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.md").write_text("Pier nine is open.")
    home: dict[str, Any] = {"home": tmp_path / "home"}
    theirs = ("--scope", "place:slack:T1:C1", "--json")
    assert warm("source", "add", "folder", str(tmp_path / "pages"), *theirs, **home).document["sync"]["added"] == 1
    assert warm("sources", "--json", **home).document == {"sources": []}  # which the team reads
    assert warm("source", "sync", "pages", **home).returncode == 0
    assert warm("source", "pause", "pages", **home).returncode == 0
    assert warm("source", "resume", "pages", **home).returncode == 0
    assert warm("source", "remove", "pages", "--json", **home).document == {"documents": 1, "kept": False}


def test_unusable_homes_and_databases_are_said_in_a_line(tmp_path: Path, warm: Warm) -> None:
    (tmp_path / "file").write_text("")
    for command in ("documents", "chat"):
        said = warm(command, home=tmp_path / "file" / "home").complaint(2)
        assert said.startswith("KOTAE_HOME should be a folder") and str(tmp_path / "file") in said
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "kotae.db").write_bytes(b"no database" * 1000)
    warm("documents", home=tmp_path / "broken").complaint(1)
    assert "QDRANT_URL" in warm("ask", "x", home=tmp_path / "q", QDRANT_URL="http://127.0.0.1:1").complaint(1)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_with_standard_streams_closed_it_does_the_same(sample_home: Path, tmp_path: Path, closed: str) -> None:
    command = f"{shlex.join([*PROGRAM, 'chat', '--json'])} {closed}; echo $? > {shlex.quote(str(tmp_path / 'status'))}"
    done = subprocess.run(
        ["sh", "-c", command], env=environment(sample_home), cwd=ROOT, input=b"Hello!\n", stderr=PIPE, timeout=120
    )
    assert (done.stderr, (tmp_path / "status").read_text()) == (b"", "0\n")
    assert open_turns(sample_home) == []


def test_a_second_owner_of_a_home_is_told_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    owned = own(tmp_path)
    try:
        for command in ("run", "chat"):
            said = kotae(command, home=tmp_path, LANG="ja_JP.UTF-8").complaint(2)
            assert "別の Kotae" in said and str(tmp_path) in said
            assert not loaded(command, home=tmp_path) & {"sqlalchemy", "numpy", *HEAVY}
    finally:
        os.close(owned)


def test_an_owner_has_its_home_before_it_loads_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOTAE_HOME", str(tmp_path))

    def first() -> None:
        with pytest.raises(OwnedError):
            own(tmp_path)  # as a second `run` does
        raise OwnerRefusedError("seen")

    async def work(app: object) -> int:
        raise AssertionError

    with pytest.raises(typer.Exit) as ended:
        as_owner(work, first=first)
    assert ended.value.exit_code == 1


def test_documents_of_another_embedder_are_not_silently_unfindable(tmp_path: Path, warm: Warm) -> None:
    (tmp_path / "a.md").write_text("# A\n\nShips moor at pier seven.\n")
    assert warm("ingest", tmp_path / "a.md", home=tmp_path / "home").returncode == 0
    said = warm("search", "pier", home=tmp_path / "home", KOTAE_EMBEDDER="fastembed:BAAI/bge-small-en-v1.5")
    assert "KOTAE_EMBEDDER" in said.complaint(2)


# -- languages, terminals, weight -----------------------------------------------------------------------------------


def test_help_is_in_the_language_of_the_locale(tmp_path: Path) -> None:
    for arguments in ([], ["--help"]):
        done = kotae(*arguments, LANG="ja_JP.UTF-8", cwd=tmp_path)
        assert "チームのチャンネル" in done.stdout + done.stderr
    assert "この質問に使うモデル" in kotae("ask", "--help", KOTAE_LANGUAGE="ja").stdout
    done = kotae("--help", cwd=tmp_path)
    assert done.returncode == 0 and not done.stderr and "knowledge bot" in done.stdout
    assert not re.search(r"[ぁ-ん]", done.stdout) and list(tmp_path.iterdir()) == []


def commands(group: Any, *path: str) -> Iterator[tuple[str, ...]]:
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, *path, name)


def english(text: str) -> list[str]:
    """Two English words in a row, and a word alone that Typer's frame has. Types are names."""
    frame = r"Usage|Options|Arguments|Commands|Error|OPTIONS|ARGS|default|required|Aborted"
    return re.findall(rf"\b(?:{frame})\b|[A-Za-z]*[a-z] [a-z]{{2,}}", re.sub(r"<[^<>]+>", "", text))


def letters(text: str) -> Counter[str]:
    return Counter(re.sub(r"[\s│─╭╮╰╯]", "", text))


def test_help_is_japanese_throughout(tmp_path: Path, warm: Warm) -> None:
    paths = list(commands(get_command(cli)))
    assert len(paths) > 20
    for path in paths:
        done, narrow = (
            warm(*path, "--help", LANG="ja_JP.UTF-8", COLUMNS=columns, cwd=tmp_path) for columns in ("400", "80")
        )
        usage, *said = done.stdout.strip().splitlines()
        assert done.returncode == 0 and not done.stderr
        assert usage.strip().startswith(f"使い方: kotae {' '.join(path)}".strip()) and "オプション" in usage
        assert english("\n".join(said)) == [], path
        assert "この説明を表示して終了します。" in done.stdout and "<bool>" not in done.stdout
        assert letters(narrow.stdout) == letters(done.stdout), path  # nothing is cut off


MISTAKES = [
    (["ask"], "question を指定してください", "Missing argument 'question'"),
    (["ask", "--mdel", "x"], "--mdel というオプションはありません", "No such option: --mdel"),
    (["documents", "-x"], "-x というオプションはありません", "No such option: -x"),
    (["nope"], "nope というコマンドはありません", "No such command 'nope'"),
    (["serch", "x"], "近いもの: 'search'", "Did you mean 'search'"),
    (["collections", "--", "nope"], "nope というコマンドはありません", "No such command 'nope'"),
    (["--"], "コマンドを指定してください", "Missing command"),
    (["documents", "x", "y"], "余分な引数があります: x y", "unexpected extra argument(s) (x y)"),
    (["ask", "x", "--model"], "--model には値が必要です", "'--model' requires an argument"),
    (["documents", "--json=1"], "--json に値は付けられません", "'--json' does not take a value"),
    (
        ["search", "x", "--limit", "101"],
        "--limit は 1 から 100 までの整数",
        "--limit should be a whole number from 1 to 100",
    ),
    (["search", "x", "--limit", "many"], "--limit は 1 から 100 までの整数", "a whole number from 1 to 100"),
    (["evaluate", "x", "--limit", "0"], "--limit は 1 以上の整数", "a whole number, 1 or more"),
]


@pytest.mark.parametrize(("arguments", "japanese", "in_english"), MISTAKES, ids=[" ".join(row[0]) for row in MISTAKES])
def test_what_is_mistyped_is_said_in_the_language_of_the_interface(
    tmp_path: Path, warm: Warm, arguments: list[str], japanese: str, in_english: str
) -> None:
    spoken = warm(*arguments, LANG="ja_JP.UTF-8", cwd=tmp_path).complaint(2)
    assert japanese in spoken and english(re.sub(r"kotae( [a-z]+)? --help", "", spoken)) == []
    assert in_english in warm(*arguments, cwd=tmp_path).complaint(2) and list(tmp_path.iterdir()) == []


_PRESSED = """
import os, runpy, signal, sys

class Pressed:
    def find_spec(self, name, *more):
        if name == "bot.config.settings":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Pressed())
runpy.run_module("bot", run_name="__main__")
"""


def test_ctrl_c_while_it_is_loaded_ends_it_without_a_word(tmp_path: Path) -> None:
    run = [sys.executable, "-c", _PRESSED]
    done = subprocess.run(run, env=environment(tmp_path), cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_plain_terminals_get_question_marks_and_escapes(sample_home: Path) -> None:
    plain: dict[str, Any] = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    done = kotae("ask", "出張の日当はいくらですか？", home=sample_home, cold=True, **plain)
    assert done.returncode == 0 and "2,500" in done.stdout and "Traceback" not in done.stderr
    listed = kotae("documents", "--json", home=sample_home, cold=True, **plain).document["documents"]
    assert any(re.search(r"[ぁ-ん]", one["title"]) for one in listed)
    assert "「出張」" in kotae(
        "documents", "--collection", "出張", home=sample_home, LANG="C", KOTAE_LANGUAGE="ja"
    ).complaint(2)


def test_without_a_home_of_the_user_it_runs_in_the_folder_it_is_in(tmp_path: Path) -> None:
    done = kotae("collections", "--json", cwd=tmp_path, HOME="")
    assert done.document == {"collections": []} and (tmp_path / ".kotae" / "kotae.db").exists()
    assert (tmp_path / ".kotae").stat().st_mode & 0o077 == 0


HEAVY = {
    *("onnxruntime", "fastembed", "google.genai", "qdrant_edge", "markitdown", "sudachipy"),
    *("fastapi", "uvicorn", "httpx"),
}


def loaded(*arguments: str, home: Path) -> set[str]:
    """The modules that a command imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "bot", *arguments],
        env=environment(home),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


def test_commands_load_what_they_need(tmp_path: Path) -> None:
    assert "typer" in (needed := loaded("--help", home=tmp_path))
    assert not needed & {"sqlalchemy", "alembic", "numpy", *HEAVY}
    for command in ("documents", "metrics"):
        assert "sqlalchemy" in (needed := loaded(command, home=tmp_path))
        assert not needed & {"numpy", *HEAVY}, command


def test_the_installed_command_is_this_one() -> None:
    installed = shutil.which("kotae", path=str(Path(sys.executable).parent))
    assert installed
    done = subprocess.run([installed, "--help"], env=environment(None), capture_output=True, text=True, timeout=60)
    assert done.stdout == kotae("--help").stdout


def test_migrate_says_where_the_database_is(tmp_path: Path, warm: Warm) -> None:
    assert "now at" in kotae("migrate", home=tmp_path / "home").stdout
    assert "up to date" in warm("migrate", home=tmp_path / "home").stdout
    assert warm("documents", "--json", home=tmp_path / "home").document == {"documents": []}


def test_moments_are_shown_on_the_clock_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    late = "2026-03-31T18:30:00+00:00"
    source = {"name": "port", "kind": "git", "collection": "port", "pages": 1, "state": "on", "gone": 0}
    document = {"collection": "port", "name": "a.md", "chunks": 1, "scope": "team", "date": None, "id": "0123456789"}
    miss = {"reason": "unknown", "detail": "", "question": "Where?", "searched": ["port"], "asked_at": late}
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        output.sources({"sources": [source | {"checked_at": late, "trouble": None, "refused": []}]}, "en")
        output.documents({"documents": [document | {"updated_at": late}]}, "en")
        output.unanswered({"questions": [miss], "total": 1, "hidden": 0}, "en")
    finally:
        monkeypatch.undo()
        time.tzset()
    shown = capsys.readouterr().out.splitlines()
    assert ["2026-04-01 03:30" in shown[0], "\t2026-04-01\t" in shown[1], "2026-04-01 03:30" in shown[2]] == [True] * 3
