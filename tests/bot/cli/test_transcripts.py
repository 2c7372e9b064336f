"""What the commands print that no other test runs, as people read it, in both languages: golden files.

`python -m tests.bot.cli.test_transcripts` writes them anew."""

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.bot.program import ROOT, Warm

GOLDEN = ROOT / "tests" / "golden" / "commands"
PAGES = ("moor.md", "crane.md")
CORPUS = '{"_id": "d1", "title": "Refunds", "text": "Refunds take 30 days after the return."}\n'
QUERIES = """{"_id": "q1", "text": "How long do refunds take?", "metadata": {"answers": ["30 days"]}}
{"_id": "q2", "text": "When does the ferry leave?", "metadata": {"kind": "far"}}
"""
RELEVANT = "query-id\tcorpus-id\tscore\nq1\td1\t1\n"

# A line is a command, or a file that goes. It is what somebody does with a home from its first day on.
COMMANDS = """
sources
source add nope x
source add folder nowhere
source add folder pages --every 5x
source add folder pages --every 1s
source add folder pages --name port --every 1h
sources
source add folder pages --name port --json
source pause port
sources
source sync port --json
source resume port
rm pages/moor.md
rm pages/crane.md
source sync port
sources
source resume port --forget --keep
source resume port --forget
source sync port
source remove port --keep
source remove port
token
token add ci --audience nobody
token add ci --per-minute 0
token add ci --per-day 9
token add ci
token
token revoke ci
token revoke ci
digest
digest --json
forget nothing.md
forget --user nobody
forget --user slack:U1 --json
backup nowhere/it.tar.gz
backup it.tar.gz
restore it.tar.gz
restore nowhere.tar.gz NEW
restore beir NEW
restore it.tar.gz NEW
evaluate nowhere
evaluate beir
"""


def transcript(run: Warm, folder: Path, language: str) -> Iterator[str]:
    """Each command with what it prints and, where that is not 0, its status. What changes from run to run is `…`."""
    for name, text in (
        *((f"pages/{page}", f"# {page}\n\nThis is the page {page}.\n") for page in PAGES),
        *(("beir/corpus.jsonl", CORPUS), ("beir/queries.jsonl", QUERIES), ("beir/qrels/test.tsv", RELEVANT)),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for line in COMMANDS.strip().splitlines():
        command, *arguments = line.split()
        if command == "rm":
            (folder / arguments[0]).unlink()
            continue
        home = folder / ("new" if "NEW" in arguments else "home")
        arguments = [one for one in arguments if one != "NEW"]
        done = run(command, *arguments, home=home, cwd=folder, KOTAE_LANGUAGE=language, KOTAE_MODEL="extractive")
        yield f"$ kotae {line}\n{_alike(done.stdout + done.stderr, folder)}" + (
            f"[{done.returncode}]\n" if done.returncode else ""
        )


_CHANGING = re.compile(
    r"""\b[0-9a-f]{32,64}\b | \b[0-9a-f]{8}$ | (?<=kotae_)[\w-]{20,} | \d{4}-\d\d-\d\d(?:[T ][\d:.+]+)? | [\d.]+(?=[ ]KB)
    | [\d.]+[ ]/[ ][\d.]+[ ]ms | [\d.]+(?=[ ]s\b|[ ]秒で) | (?:(?<=added\ a\ second\t)|(?<=追加チャンク数\t))[\d.]+""",
    re.MULTILINE | re.VERBOSE,
)


def _alike(printed: str, folder: Path) -> str:
    return _CHANGING.sub("…", printed.replace(str(folder), "FOLDER"))


@pytest.mark.parametrize("language", ["en", "ja"])
def test_what_commands_print(warm: Warm, tmp_path: Path, language: str) -> None:
    golden = (GOLDEN / f"{language}.txt").read_text(encoding="utf-8")
    assert "\n".join(transcript(warm, tmp_path, language)) == golden


if __name__ == "__main__":
    with Warm() as warmed:
        for spoken in ("en", "ja"):
            with TemporaryDirectory() as place:
                (GOLDEN / f"{spoken}.txt").write_text(
                    "\n".join(transcript(warmed, Path(place), spoken)), encoding="utf-8"
                )
