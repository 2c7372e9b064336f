"""Kotae's own entries in its home, by name: none of them is taken for a file that somebody has given.

It is imported where a command starts, so that it loads nothing heavy.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from retrieval.loaders.local_files import LocalFile, local_files

# A folder of the home is Kotae's when all in it is: KOTAE_HOME may be a folder that people keep their own things in.
OURS: Mapping[str, re.Pattern[str]] = {
    "documents": re.compile(r"[0-9a-f]{2}|home|\.kotae-.+\.part"),  # `home`: whose they are (bot/knowledge/identity.py)
    "datasets": re.compile(r"[0-9a-f]{32}"),
    "uploads": re.compile(r"[0-9a-f]{32}|\.kotae-.+\.part"),
    "logs": re.compile(r"agent_chat\.log(\.\d+)?|erased|\.kotae-.+\.part"),
    "sources": re.compile(r"[0-9a-f]{32}\.(git|json)|\.kotae-.+\.part"),
    "vectors": re.compile(r"reindex\.jsonl|\.kotae-.+\.part"),  # and the stores: folders with a lock
}

ASIDE = re.compile(r"aside-\d{8}T.+")  # bot/knowledge/set_aside.py


def given_files(path: Path, home: Path) -> list[LocalFile]:
    """`local_files` without what Kotae itself keeps in `home`, which may lie in that folder or around it: the texts of
    private places are there, too. Blocks."""
    files = local_files(path)
    if not os.path.isdir(path):  # noqa: PTH112 (raises nothing; a file is their own choice)
        return files
    real, given = Path(os.path.realpath(home)), Path(os.path.realpath(path))
    if not (real.is_relative_to(given) or given.is_relative_to(real)):
        return files
    return [file for file in files if file.inside is None or not _is_kept(given.joinpath(*file.inside), real)]


def _is_kept(file: Path, home: Path) -> bool:
    if not file.is_relative_to(home):
        return False
    top, *below = file.relative_to(home).parts
    return bool(below) and (ASIDE.fullmatch(top) is not None or is_our_entry(home / top / below[0]))


def is_our_entry(path: Path) -> bool:
    """Whether Kotae has put it into its folder of the home."""
    known = OURS.get(path.parent.name)  # none: in the place of a file, as Docker makes one to mount it
    return known is not None and (known.fullmatch(path.name) is not None or (path / "lock").is_file())
