"""A git repository: one branch, mirrored bare in the home and read object by object, never checked out.

Source: sources.md §1 (git); git-scm.com/docs: git (environment), git-config (protocol.allow, core.hooksPath,
http.curloptResolve, http.followRedirects), git-ls-tree, git-diff, git-log, git-cat-file (--batch).
"""

import asyncio
import base64
import logging
import os
import re
import shutil
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from shlex import quote as quoted
from urllib.parse import SplitResult, quote, urlsplit

from bot.sources.addresses import resolved
from bot.sources.base import (
    LOCAL,
    MOST_PAGES,
    TOO_BIG,
    TOO_MANY,
    Fetched,
    Listing,
    PageFilter,
    PageRefusedError,
    SourceError,
    SourcePage,
    follow_renames,
    ref_of,
)
from bot.store.followed import FollowedPage
from bot.waiting import beside
from retrieval.i18n import Text
from retrieval.loaders.limits import REASONS, ParsingLimits, size
from retrieval.loaders.sanitize import clean_line

log = logging.getLogger(__name__)

MOST_BYTES = 2**30  # of a mirror
ERROR_BYTES = 2**16  # that git complains
LOOK_SECONDS, FETCH_SECONDS = 60.0, 1800.0
_BRANCH = re.compile(r"\w[\w./+#@-]{0,199}")
_SCP = re.compile(r"(?P<user>[\w.-]+)@(?P<host>[\w.-]+):(?P<path>[^/].*|/.+)")
_LFS = b"version https://git-lfs"
_FOLLOWED = "refs/heads/followed"

NO_GIT = Text(
    en="The program git is not installed here. Install it to follow repositories.",
    ja="git がインストールされていません。リポジトリを同期するには git をインストールしてください。",
)
_ADDRESS = Text(
    en="“{location}” is not an address of a repository that I follow: https://…, ssh://… or git@host:path.",
    ja="「{location}」は対応していないリポジトリの形式です（https://…、ssh://…、git@host:path）。",
)
_SECRET = Text(
    en="The address holds a password or token. Put it into KOTAE_GIT_TOKENS (host=token) and leave it out here.",
    ja="アドレスにパスワードまたはトークンが含まれています。KOTAE_GIT_TOKENS（ホスト=トークン）に設定し、ここからは除いてください。",
)
_NO_BRANCH = Text(en="“{branch}” cannot be the name of a branch.", ja="「{branch}」はブランチ名として使えません。")
_NOT_THERE = Text(en="The repository has no branch “{branch}”.", ja="リポジトリにブランチ「{branch}」がありません。")
_EMPTY = Text(
    en="The repository is empty, or its default branch is not there. Name another one (--branch).",
    ja="リポジトリが空か、既定のブランチがありません。--branch でブランチを指定してください。",
)
_FAILED = Text(en="git could not read the repository: {why}", ja="git でリポジトリを読み込めませんでした: {why}")
_REFUSED = Text(
    en="The repository's host wants a token, or refuses the one it was given. Set one that may read the repository in"
    " KOTAE_GIT_TOKENS (host=token) and start Kotae again.",
    ja="リポジトリのホストがトークンを要求しているか、設定されたトークンを拒否しています。"
    "このリポジトリを読めるトークンを KOTAE_GIT_TOKENS（ホスト=トークン）に設定し、Kotae を再起動してください。",
)
_MOVED = Text(
    en="The repository's host points to another address: it was renamed or moved. Follow it at its new address.",
    ja="リポジトリのホストが別のアドレスを示しています（名前の変更か移動）。新しいアドレスで登録し直してください。",
)
_KNOWN = (
    (re.compile(r"askpass|could not read (?:Username|Password)|Authentication failed|error: 40[13]\b"), _REFUSED),
    (re.compile(r"error: 30[1278]\b"), _MOVED),
)
_SSH_FAILED = "fatal: Could not read from remote repository."  # and before it ssh says why
_TIMEOUT = Text(en="git took longer than {n} s.", ja="git の処理が {n} 秒を超えました。")
_TOO_LONG = Text(
    en="git lists more than {n} MiB of it. Follow a smaller repository.",
    ja="git の一覧が {n} MiB を超えています。より小さいリポジトリを指定してください。",
)
_IN_LFS = Text(en="It is kept in Git LFS, which is not read.", ja="Git LFS で管理されているファイルは読み込めません。")
_LOST = Text(
    en="A page is missing in the mirror of the repository, which is made anew.",
    ja="リポジトリのミラーにページが見つからないため、作り直します。",
)


@dataclass(frozen=True, slots=True)
class GitAccess:
    """The means by which a repository may be reached: tokens by host; `private`: in the own network, too."""

    tokens: Mapping[str, str] = field(repr=False)
    private: bool = False
    local: bool = False  # added from the terminal: repositories of this machine, too


@dataclass(frozen=True, slots=True)
class GitBounds:
    """Bytes that git may print for one command, and take at once: in a few kilobytes of a repository may be billions of
    files, and one of gigabytes."""

    output: int = 2**27
    memory: int = 2**29


@dataclass(frozen=True)
class GitSource:
    """One branch; `branch` empty: the repository's own choice. `mirror`: a folder of its own, that may be lost."""

    location: str
    wanted: PageFilter
    _: KW_ONLY
    branch: str
    mirror: Path
    access: GitAccess
    bounds: GitBounds = GitBounds()

    @cached_property
    def _git(self) -> "_Git":
        return _Git(self.mirror, check_location(self.location, local=self.access.local), self.access, self.bounds)

    @asynccontextmanager
    async def look(self, cursor: str | None, known: Mapping[str, FollowedPage]) -> AsyncIterator[Listing | None]:
        ref, head = await self._head()
        if f"{head} {ref}" == cursor:
            yield None
            return
        try:
            # without a cursor, what the last look has seen is not done yet
            before = cursor.partition(" ")[0] if cursor else await self._git.commit(_FOLLOWED)
            await self._git.fetch(ref)
            head = await self._git.commit(_FOLLOWED) or head  # it may have been pushed anew in between
            before = before and await self._git.commit(before)
            listed = await self._git.run("ls-tree", "-r", "-l", "-z", "--full-tree", head)
            pages, too_long = await asyncio.to_thread(self._pages, listed, ref)
            follow_renames(pages, known)  # also where git does not know from what, as after a forced push
            for new, old in (await self._renames(before, head)).items():
                if new in pages and new not in known and old in known and old not in pages:
                    pages[new] = replace(pages[new], was=old)
            went_on = cursor and before and await self._git.is_ancestor(before, head)  # no: the branch was pushed anew
            dates = await self._dates(before if went_on else None, head)
            async with self._git.running("cat-file", "--batch", stdin=asyncio.subprocess.PIPE) as blobs:
                yield Listing(pages, partial(_fetched, blobs, dates, too_long), f"{head} {ref}")
        except SourceError:
            await self._git.drop_if_damaged()
            raise

    async def _head(self) -> tuple[str, str]:
        """The branch's full name and its commit."""
        asked = f"refs/heads/{self.branch}" if self.branch else "HEAD"
        said = (await self._git.run("ls-remote", "--symref", "--", self._git.location, asked)).decode(errors="replace")
        head = re.search(rf"^([0-9a-f]{{40,64}})\t{re.escape(asked)}$", said, re.MULTILINE)
        if head is None:
            raise SourceError(_NOT_THERE, branch=self.branch) if self.branch else SourceError(_EMPTY)
        chosen = re.search(r"^ref: (\S+)\tHEAD$", said, re.MULTILINE)
        return chosen[1] if chosen else asked, head[1]

    def _pages(self, listed: bytes, ref: str) -> tuple[dict[str, SourcePage], Collection[str]]:
        """By ref; and the blobs that are longer than a page may be."""
        web = web_address(self.location, ref.removeprefix("refs/heads/"))
        pages: dict[str, SourcePage] = {}
        too_long = set()
        for entry in re.finditer(rb"[^\0]+", listed):
            about, _, path = entry.group().partition(b"\t")
            mode, kind, blob, size = about.decode().split()
            ref, name = ref_of(path), self.wanted.name(path.decode(errors="backslashreplace"))
            if kind == "blob" and mode in ("100644", "100755") and name is not None:
                url = web + quote(path) if web else None
                pages[ref] = SourcePage(ref, blob, name, url)
                if int(size) > ParsingLimits().file:
                    too_long.add(blob)
            if len(pages) > MOST_PAGES:
                raise SourceError(TOO_MANY, most=MOST_PAGES)
        return pages, too_long

    async def _renames(self, before: str | None, head: str) -> dict[str, str]:
        """New ref → old one, as git tells by what they say."""
        if before is None:
            return {}
        told = await self._git.run("diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--name-status", before, head)
        parts = [ref_of(part) for part in told.split(b"\0")]
        return {parts[at + 2]: parts[at + 1] for at in range(0, len(parts) - 2, 3)}

    async def _dates(self, before: str | None, head: str) -> dict[str, str]:
        """The day of each ref's last commit: of those since `before`, if any."""
        which = f"{before}..{head}" if before is not None else head
        told = await self._git.run("log", "--format=%x01%cs", "--name-only", "-z", "--no-renames", which, "--")
        dates, day = dict[str, str](), ""
        for part in told.split(b"\0"):
            text = ref_of(part).strip("\n")
            if text.startswith("\x01"):
                day, _, text = text[1:].partition("\n")
            if text.strip("\n"):
                dates.setdefault(text.strip("\n"), day)
        return dates


@dataclass(frozen=True, slots=True)
class _Git:
    """The program, hardened: it asks nobody, runs nothing of the repository's, and speaks with its host only."""

    mirror: Path
    location: str
    access: GitAccess
    bounds: GitBounds

    async def fetch(self, ref: str) -> None:
        await asyncio.to_thread(_tidy, self.mirror)
        if not (self.mirror / "HEAD").exists():
            self.mirror.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            await self.run("init", "--bare", "--quiet", "--template=", "--", str(self.mirror))
        command = (
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-auto-gc",
            "--force",
            "--update-shallow",
        )
        fetch = self.run(*command, "--", self.location, f"+{ref}:{_FOLLOWED}", seconds=FETCH_SECONDS)
        async with beside(fetch) as fetching:
            while not fetching.done() and await asyncio.to_thread(_size, self.mirror) <= MOST_BYTES:
                await asyncio.wait({fetching}, timeout=1)
            if done := fetching.done():
                await fetching
        if not done or await asyncio.to_thread(_size, self.mirror) > MOST_BYTES:
            await self._drop()  # it also holds what the repository has got rid of
            raise SourceError(TOO_BIG, n=MOST_BYTES >> 20)
        await self._pack()

    async def _pack(self) -> None:
        """Put what many fetches have brought into one file, where git finds that there is much: ten small files for
        each would else be kept for ever."""
        try:
            await self.run("gc", "--auto", "--quiet", seconds=FETCH_SECONDS)
        except SourceError as error:
            log.warning("a mirror could not be packed: %s", error)

    async def commit(self, name: str) -> str | None:
        """A commit of the mirror, by any name; None: it is not there."""
        status, out, _ = await self._run("rev-parse", "--verify", f"{name}^{{commit}}")
        return None if status else out.decode().strip()

    async def is_ancestor(self, earlier: str, later: str) -> bool:
        return (await self._run("merge-base", "--is-ancestor", earlier, later))[0] == 0

    async def drop_if_damaged(self) -> None:
        """So that the next look begins a new mirror: a disk that was full, or lost power, leaves halves of files. Only
        git itself can tell, by its status."""
        with suppress(SourceError):
            status, _, _ = await self._run("fsck", "--no-dangling", "--no-progress", seconds=FETCH_SECONDS)
            if status > 0 and self.mirror.exists():
                log.warning("a mirror is damaged, and is made anew")
                await self._drop()

    async def _drop(self) -> None:
        await asyncio.to_thread(shutil.rmtree, self.mirror, ignore_errors=True)

    async def run(self, *command: str, seconds: float = LOOK_SECONDS) -> bytes:
        """Run a command; returns its output. Raises SourceError."""
        status, out, err = await self._run(*command, seconds=seconds)
        if status:
            known = (words for complaint, words in _KNOWN if complaint.search(err.decode(errors="replace")))
            raise SourceError(next(known, _FAILED), why=_reason(err, self.access.tokens.values()))
        return out

    async def _run(self, *command: str, seconds: float = LOOK_SECONDS) -> tuple[int, bytes, bytes]:
        """Its status, output and complaints. Raises SourceError where it did not come to an end."""
        async with self.running(*command) as process:
            try:
                async with asyncio.timeout(seconds):
                    out, err = await _said(process, self.bounds.output)
            except TimeoutError:
                raise SourceError(_TIMEOUT, n=round(seconds)) from None
        return process.returncode or 0, out, err

    @asynccontextmanager
    async def running(
        self, *command: str, stdin: int = asyncio.subprocess.DEVNULL
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        """A command at work, in the mirror once that is there; it is ended with the block. Raises SourceError."""
        program = shutil.which("git")
        if program is None:
            raise SourceError(NO_GIT)
        where = ["--git-dir", str(self.mirror)] if (self.mirror / "HEAD").exists() else []
        pipe, env = asyncio.subprocess.PIPE, await self._environment(remote=command[0] in ("ls-remote", "fetch"))
        process = await asyncio.create_subprocess_exec(
            program, *where, *command, stdin=stdin, stdout=pipe, stderr=pipe, env=env, cwd="/"
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
            with suppress(OSError):
                await process.wait()

    async def _environment(self, *, remote: bool) -> dict[str, str]:
        """Settings by the environment, which other users of this machine cannot read as they can a command line.
        `remote`: for a command that speaks with the host."""
        given = {name: os.environ[name] for name in ("PATH", "HOME", "SSH_AUTH_SOCK", "TMPDIR") if name in os.environ}
        fixed = {
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ASKPASS": "/bin/false",
            "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=20",
            "GIT_ALLOW_PROTOCOL": "https:ssh:file:http" if self.access.local else "https:ssh",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_ALLOC_LIMIT": str(self.bounds.memory),  # git's wrapper.c: of one allocation
            "LC_ALL": "C",
        }
        config = [
            ("core.hooksPath", "/dev/null"),
            ("core.bigFileThreshold", str(ParsingLimits().file)),  # longer files are never whole in git's memory
            ("protocol.ext.allow", "never"),
            ("submodule.recurse", "false"),
            ("http.followRedirects", "false"),
            ("http.lowSpeedLimit", "1000"),
            ("http.lowSpeedTime", "30"),
            ("gc.autoDetach", "false"),
            ("pack.threads", "1"),
            ("pack.windowMemory", "64m"),
            ("safe.directory", "*"),
        ]
        host, port = _host(self.location) if remote else (None, 0)
        if host is not None and not self.access.private:
            address = await resolved(host, port)
            config.append(("http.curloptResolve", f"{host}:{port}:{address}"))
            known_as = host if port == 22 else f"[{host}]:{port}"  # in ssh's known_hosts
            fixed["GIT_SSH_COMMAND"] += f" -o HostName={quoted(address)} -o HostKeyAlias={quoted(known_as)}"
        token = self.access.tokens.get(f"{host}:{port}") or self.access.tokens.get(host or "")
        if token and self.location.startswith("https://"):
            secret = base64.b64encode(f"x-access-token:{token}".encode()).decode()
            config.append((f"http.https://{host}:{port}/.extraHeader", f"Authorization: Basic {secret}"))
        numbered = {"GIT_CONFIG_COUNT": str(len(config))}
        for at, (key, value) in enumerate(config):
            numbered |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}
        return given | fixed | numbered


async def _fetched(
    blobs: asyncio.subprocess.Process, dates: Mapping[str, str], too_long: Collection[str], page: SourcePage
) -> Fetched:
    """A page from a `cat-file --batch`. Raises SourceError when none can be read any more: then the mirror is damaged,
    or git has ended."""
    if page.version in too_long:  # a terabyte of zeros is a kilobyte in a repository
        raise PageRefusedError(REASONS["size"], limit=size(ParsingLimits().file))
    assert blobs.stdin is not None and blobs.stdout is not None  # it was started so
    try:
        blobs.stdin.write(f"{page.version}\n".encode())
        await blobs.stdin.drain()
        head = (await blobs.stdout.readuntil(b"\n")).split()
        if head[-1] == b"missing":
            raise SourceError(_LOST)
        data = (await blobs.stdout.readexactly(int(head[2]) + 1))[:-1]  # a line end follows
    except (OSError, EOFError, ValueError) as error:
        raise SourceError(_FAILED, why=type(error).__name__) from error
    if data.startswith(_LFS):
        raise PageRefusedError(_IN_LFS)
    return Fetched(data, dates.get(page.ref))


async def _said(process: asyncio.subprocess.Process, most: int) -> tuple[bytes, bytes]:
    """A command's output, in full, and its complaints, in part. Raises SourceError for more than `most` bytes."""
    assert process.stdout is not None and process.stderr is not None  # it was started so
    async with beside(_beginning(process.stderr)) as complaints:
        said = bytearray()
        while part := await process.stdout.read(1 << 16):
            said += part
            if len(said) > most:
                raise SourceError(_TOO_LONG, n=most >> 20)
        complained = await complaints
    await process.wait()
    return bytes(said), complained


async def _beginning(stream: asyncio.StreamReader) -> bytes:
    """Read to its end: else the program would wait."""
    kept = bytearray()
    while part := await stream.read(1 << 16):
        kept += part[: ERROR_BYTES - len(kept)]
    return bytes(kept)


def _reason(said: bytes, secrets: Collection[str]) -> str:
    """The last line that says something, without secrets."""
    lines = [line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()]
    lines = [line for line in lines if line != _SSH_FAILED] or lines
    fatal = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))]
    text = (fatal or lines or ["?"])[0].removeprefix("fatal: ")
    for secret in secrets:
        text = text.replace(secret, "…")
    return clean_line(text, 300)


def _tidy(mirror: Path) -> None:
    """Take away what commands that were ended have left: halves of packs, which stay for ever, and locks."""
    for path in mirror.rglob("*"):
        if path.name.startswith(("tmp_", ".tmp-")) or path.suffix == ".lock":
            with suppress(OSError):
                path.unlink()


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.lstat().st_size
    return total


# -- addresses --------------------------------------------------------------------------------------------------------


def check_location(location: str, *, local: bool) -> str:
    """An address that git may be given. Raises SourceError."""
    location = location.strip()
    wrong = SourceError(_ADDRESS, location=location[:200])
    if location.startswith("-") or any(not sign.isprintable() or sign.isspace() for sign in location):
        raise wrong
    try:
        parts = _split(location)
        _ = parts.port
    except ValueError as error:
        raise wrong from error
    if parts.scheme in ("https", "ssh") and parts.hostname:
        if parts.password or (parts.username and parts.scheme == "https"):
            raise SourceError(_SECRET)
    elif location and parts.scheme in ("", "file", "http"):
        if not local:
            raise SourceError(LOCAL) if parts.scheme != "http" else wrong
    else:
        raise wrong
    return location


def _split(location: str) -> SplitResult:
    """An address in its parts; git@host:path is short for ssh://git@host/path. Raises ValueError."""
    found = _SCP.fullmatch(location)
    return urlsplit(f"ssh://{found['user']}@{found['host']}/{found['path']}" if found else location)


def check_branch(branch: str) -> str:
    """Raises SourceError."""
    if branch and (not _BRANCH.fullmatch(branch) or ".." in branch or branch.endswith((".lock", "/", "."))):
        raise SourceError(_NO_BRANCH, branch=branch[:200])
    return branch


def _host(location: str) -> tuple[str | None, int]:
    """Its host and port; None for a repository of this machine."""
    parts = _split(location)
    ports = {"https": 443, "http": 80, "ssh": 22}
    return (parts.hostname, parts.port or ports[parts.scheme]) if parts.scheme in ports else (None, 0)


def web_address(location: str, branch: str) -> str | None:
    """The address at which the host shows a file of the branch, up to its path; None where that is not known."""
    parts = _split(location)
    if parts.scheme not in ("https", "ssh") or not parts.hostname:
        return None
    host, path = parts.hostname, quote(parts.path.strip("/").removesuffix(".git"), safe="/%")
    address = f"https://{parts.netloc if parts.scheme == 'https' else host}/{path}"  # the port of ssh is not the pages'
    branch = quote(branch)
    if "/_git/" in path:  # Azure DevOps
        return f"{address}?version=GB{branch}&path=/"
    if host == "bitbucket.org":
        return f"{address}/src/{branch}/"
    if "gitlab" in host:
        return f"{address}/-/blob/{branch}/"
    if host in ("codeberg.org", "gitea.com") or "gitea" in host or "forgejo" in host:
        return f"{address}/src/branch/{branch}/"
    return f"{address}/blob/{branch}/"
