"""The mark of a home into which a backup is being restored. Apart from `bot/operations/restore.py`, since every start
looks for it."""

import os
from pathlib import Path

from bot.errors import SettingsError
from retrieval.i18n import Text, filled

UNFINISHED = "restoring"  # the folder in a home where everything is prepared
MANIFEST = "manifest.json"

_UNFINISHED = Text(
    en="A restore into {folder} was cut short. Run kotae restore with the same file again, or set KOTAE_HOME to a new "
    "folder to start empty.",
    ja="{folder} への復元が途中で止まっています。同じファイルでもう一度 kotae restore を実行するか、"
    "空の状態から始める場合は KOTAE_HOME に新しいフォルダーを指定してください。",
)


def unfinished(home: Path) -> bool:
    """Whether a restore into this home began and did not end: then it is not to be opened."""
    return os.path.exists(home / UNFINISHED / MANIFEST)  # noqa: PTH110 (raises nothing: what opens the home says why)


def refuse_unfinished(home: Path) -> None:
    """Raises SettingsError for a home whose restore did not end."""
    if unfinished(home):
        raise SettingsError(filled(_UNFINISHED, folder=str(home)))
