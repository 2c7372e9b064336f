"""Logging, set up once: readable lines or JSON on stderr without secrets or message texts, and the chat log beside it.

Source: reliability.md R58; seeds/2_hybrid_knowledge_agent.md (`logs/agent_chat.log`).
"""

import asyncio
import fcntl
import json
import logging
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO
from urllib.parse import quote

from agent.events import Event
from bot.turns.event_json import as_json
from bot.types import Incoming
from retrieval.durable import make_folder

log = logging.getLogger(__name__)

OURS = frozenset({"adapters", "agent", "bot", "retrieval", "migrations", "py"})  # py.warnings
CHAT_LOG_BYTES = 10_000_000
CHAT_LOG_FILES = 5
_GATHERED = 0.25  # seconds: each time that the thread is woken holds up the event loop

_HIDDEN = "[redacted]"
_SECRETS = re.compile(
    r"""
      \bxox[a-z](?:\.xox[a-z])?-[\w-]{4,}                            # Slack: bot, user, rotated, legacy
    | \bxapp-[\w-]{4,}                                                # Slack: app-level
    | hooks\.slack\.com/(?:services|workflows|triggers)/[^\s"']+      # Slack: webhook
    | \b[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}                          # Discord: bot; also most JWTs
    | /api(?:/v\d+)?/webhooks/\d+/[\w-]{20,}                          # Discord: webhook
    | \bAIza[\w-]{20,} | \bAQ\.[\w-]{20,}                             # Google
    | \bsk-[\w-]{12,}                                                 # OpenAI and the like
    | \bhf_\w{20,}                                                   # Hugging Face
    | \beyJ[\w-]{10,1000}\.[\w-]{5,}\.[\w-]{5,}                       # JWT
    | \bgh[pousr]_\w{20,} | \bgithub_pat_\w{20,} | \bglpat-[\w-]{16,}  # GitHub, GitLab
    | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b                                   # AWS: access key
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----[\s\S]*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    """,
    re.VERBOSE,
)
_SCHEME = re.compile(
    r"\b(Bearer|Basic|Bot)(\s+)(?!Information\b)[\w.+/=~-]{8,}"
)  # "Basic Information" is a page of Slack's
_HEADER = re.compile(
    r"(?i)\b((?:x-goog-)?api[-_]?key|x-slack-signature|authorization)([\"']?\s*[:=]\s*[\"']?)[^\s\"',}&]{6,}"
)
_QUERY = re.compile(
    r"(?i)([?&](?:x-amz-[a-z-]+|x-goog-[a-z-]+|sig|signature|token|access_token|key|api_?key|ticket|hm|secret|password|t)=)"
    r"[^\s&#\"'<>]+"
)
_PASSWORD = re.compile(r"(\w://[^\s:/@]*:)[^\s/@]+(@)")
_CLUE = re.compile(  # in every text of which one of them takes something: most have none, and are not looked at further
    r"xox|xapp-|hooks\.slack|webhooks/|\.[\w-]{6,7}\.[\w-]{27}|AIza|AQ\.|sk-|hf_|eyJ|gh[pousr]_|github_pat_|glpat-|AKIA|ASIA"
    r"|PRIVATE KEY|Bearer|Basic|Bot\s|[?&][\w-]+=|://|(?i:api|signature|authorization)"
)


def holds_secret(text: str) -> bool:
    """Whether something in a text has the form of a key, a token or an address's password, with a figure in it."""
    found = (match.group() for pattern in (_SECRETS, _PASSWORD) for match in pattern.finditer(text))
    return any(re.search(r"\d", one) for one in found)


class Redactor:
    """Text without secrets: the configured ones and whatever looks like one."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {form for secret in secrets if len(secret) >= 6 for form in (secret, quote(secret, safe=""))}
        longest_first = sorted(known, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if known else None

    def __call__(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub(_HIDDEN, text)
        if not _CLUE.search(text):
            return text
        text = _PASSWORD.sub(rf"\1{_HIDDEN}\2", text)
        text = _SECRETS.sub(_HIDDEN, text)
        text = _QUERY.sub(rf"\1{_HIDDEN}", text)
        text = _SCHEME.sub(rf"\1\2{_HIDDEN}", text)
        return _HEADER.sub(rf"\1\2{_HIDDEN}", text)

    def value(self, value: Any) -> Any:
        """The same for what JSON can hold."""
        match value:
            case str():
                return self(value)
            case dict():
                return {self(str(key)): self.value(inner) for key, inner in value.items()}
            case list() | tuple():
                return [self.value(inner) for inner in value]
            case _:
                return value


_hide = Redactor()


def without_secrets(text: str) -> str:
    """For more people than whoever wrote it: hidden is what looks like a secret, if something surely is one."""
    return _hide(text) if holds_secret(text) else text


def set_up(level: str, *, secrets: Iterable[str] = (), stream: TextIO | None = None) -> Redactor:
    """Log to stderr (or `stream`): ours from `level` up, other people's libraries from WARNING up.

    On a terminal a readable line, elsewhere a JSON object a line. Exceptions nobody caught are logged too, so that
    their text passes the redaction.
    """
    redactor = Redactor(secrets)
    target = stream if stream is not None else sys.stderr
    handler = logging.StreamHandler(target)
    handler.setFormatter(_Line(redactor) if target.isatty() else _Json(redactor))
    handler.addFilter(_worth_showing)
    root = logging.getLogger()
    for old in [old for old in root.handlers if isinstance(old.formatter, _Line | _Json)]:
        root.removeHandler(old)
    root.addHandler(handler)
    # Third parties' records of a lower level are not even made: several print whole payloads at DEBUG.
    root.setLevel(logging.WARNING)
    for name in OURS:
        logging.getLogger(name).setLevel(level)
    logging.captureWarnings(True)
    sys.excepthook = _crashed
    threading.excepthook = lambda failed: _crashed(
        failed.exc_type, failed.exc_value or failed.exc_type(), failed.exc_traceback
    )
    return redactor


_UNTRUE = "Both GOOGLE_API_KEY and GEMINI_API_KEY are set"  # google-genai: but it is given the key, and asks neither


def _worth_showing(record: logging.LogRecord) -> bool:
    if record.name.startswith("google_genai") and str(record.msg).startswith(_UNTRUE):
        return False
    return record.levelno >= logging.WARNING or record.name.split(".")[0] in OURS


def _crashed(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    log.critical("crashed", exc_info=(kind, error, where))


_PLAIN = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "asctime", "taskName"}


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in record.__dict__.items() if name not in _PLAIN}


class _Line(logging.Formatter):
    """12:00:01 INFO bot.turns.turns turn ended turn=… outcome=answered"""

    def __init__(self, redact: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s", "%H:%M:%S")
        self._redact = redact

    def formatMessage(self, record: logging.LogRecord) -> str:
        fields = (f" {name}={value}" for name, value in _fields(record).items())
        return super().formatMessage(record) + "".join(fields)

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(super().format(record))


class _Json(logging.Formatter):
    """One object a line: at, level, logger, message, the fields, and error with its traceback."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        shown = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            shown["error"] = self.formatException(record.exc_info)
        if record.stack_info:
            shown["stack"] = self.formatStack(record.stack_info)
        return self._redact(json.dumps(self._redact.value(shown), ensure_ascii=False, default=str))


class ChatLog:
    """Every question, thought, tool call, result, reflection and answer, a JSON object a line, for its owner only.

    The only place besides the database where message texts are written. Several processes may write; a full disk
    costs a log line, not the answer. Lines are written in their order by a thread, those of a moment together: `flush`
    does not wait for the moment's end but for them, and so does the end of the process.
    """

    def __init__(
        self,
        path: Path,
        redactor: Redactor,
        *,
        max_bytes: int = CHAT_LOG_BYTES,
        files: int = CHAT_LOG_FILES,
    ) -> None:
        self._path = path
        self._redactor = redactor
        self._max_bytes = max_bytes
        self._files = files
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="chat-log")
        self._entries: deque[dict[str, Any]] = deque()
        self._waiting = threading.Lock()  # for `_entries` and `_written` together
        self._written: Future[None] | None = None  # done when nothing is left to write
        self._hurry = threading.Event()

    def asked(self, turn: str, message: Incoming) -> None:
        place = message.place
        self._write(
            turn,
            {
                "type": "question",
                "text": message.text,
                "platform": place.platform,
                "workspace": place.workspace,
                "channel": place.channel,
                "thread": message.thread,
                "author": message.author,
            },
        )

    def record(self, turn: str, event: Event) -> None:
        self._write(turn, as_json(event))

    async def flush(self) -> None:
        """Writes everything recorded until now to the file."""
        written = self._written
        if written is not None and not written.done():
            self._hurry.set()
            await asyncio.wait({asyncio.wrap_future(written)})

    def close(self) -> None:
        """Write what is left, and end the thread."""
        self._hurry.set()
        self._thread.shutdown()

    def _write(self, turn: str, entry: dict[str, Any]) -> None:
        stamped = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "turn": turn, **entry}
        with self._waiting:
            self._entries.append(stamped)
            if self._written is None or self._written.done():
                self._written = self._thread.submit(self._write_all)

    def _write_all(self) -> None:
        self._hurry.wait(_GATHERED)
        self._hurry.clear()
        while entries := self._taken():
            lines = (json.dumps(self._redactor.value(entry), ensure_ascii=False, default=str) for entry in entries)
            try:
                self._append([(line + "\n").encode("utf-8", "replace") for line in lines])
            except OSError:
                log.warning("the chat log cannot be written", exc_info=True)

    def _taken(self) -> list[dict[str, Any]]:
        with self._waiting:
            entries = list(self._entries)
            self._entries.clear()
            if not entries:
                self._written = None
            return entries

    def _append(self, lines: Sequence[bytes]) -> None:
        make_folder(self._path.parent)
        left = deque(lines)
        while left:
            log_file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                fcntl.flock(log_file, fcntl.LOCK_EX)
                size = os.fstat(log_file).st_size
                if size and size + len(left[0]) > self._max_bytes:
                    self._rotate(log_file)
                    continue
                fitting = [left.popleft()]
                size += len(fitting[0])
                while left and size + len(left[0]) <= self._max_bytes:
                    fitting.append(left.popleft())
                    size += len(fitting[-1])
                os.write(log_file, b"".join(fitting))
            finally:
                os.close(log_file)

    def _rotate(self, log_file: int) -> None:
        """agent_chat.log → .1 → .2 …; the oldest goes. Whoever comes second finds it done."""
        if not self._path.exists() or not os.path.samestat(os.fstat(log_file), self._path.stat()):
            return
        for number in range(self._files - 1, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            newer = self._path if number == 1 else self._path.with_name(f"{self._path.name}.{number - 1}")
            if newer.exists():
                newer.replace(older)
