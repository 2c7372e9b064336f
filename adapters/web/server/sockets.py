"""Addresses on which the HTTP API listens: a Unix socket in the home for the commands, an address for programs and
browsers.

Source: reliability.md R20 and R49; architecture.md "One process, or many".
"""

import errno
import ipaddress
import re
import socket
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from bot.cli.remote import SOCKET, short
from bot.errors import SettingsError
from retrieval.i18n import Language, Text, filled, os_reason

_BACKLOG = 128
_ANY = frozenset({"0.0.0.0", "::"})
_PORT = re.compile(r":\d{1,5}$")
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")

_NO_TOKEN = Text(
    en="KOTAE_WEB_HOST={host} can be reached from other machines, so KOTAE_WEB_TOKEN has to be set: a long random text "
    "that a browser is asked for once and programs send as their bearer token. For this machine only, set "
    "KOTAE_WEB_HOST=127.0.0.1.",
    ja="KOTAE_WEB_HOST={host} はほかのマシンから接続できるため、KOTAE_WEB_TOKEN の設定が必要です。長いランダムな文字列"
    "を設定してください。ブラウザーでは一度入力し、プログラムはベアラートークンとして送ります。このマシンだけで使う"
    "場合は KOTAE_WEB_HOST=127.0.0.1 にします。",
)
_NO_TOKEN_FOR = Text(
    en="KOTAE_WEB_URL={url} is where others reach Kotae, so KOTAE_WEB_TOKEN has to be set: a long random text that a "
    "browser is asked for once and programs send as their bearer token.",
    ja="KOTAE_WEB_URL={url} はほかの人が接続するアドレスなので、KOTAE_WEB_TOKEN の設定が必要です。長いランダムな"
    "文字列を設定してください。ブラウザーでは一度入力し、プログラムはベアラートークンとして送ります。",
)
_BUSY = Text(
    en="Port {port} at {host} is in use by another program. Set KOTAE_WEB_PORT to a free one.",
    ja="{host} のポート {port} は別のプログラムが使用中です。KOTAE_WEB_PORT に空いているポートを指定してください。",
)
_UNUSABLE = Text(
    en="Cannot listen at KOTAE_WEB_HOST={host}, port {port}: {why}.",
    ja="KOTAE_WEB_HOST={host}、ポート {port} では待ち受けできません: {why}",
)
_BANNER = Text(
    en="Browser: {url}  (a channel to try the bot in, documents, search, unanswered questions, metrics)\n"
    "API: {url}  (POST {url}/chat, GET {url}/search?query=…; described in {url}/openapi.json)\n"
    "Health: {url}/readyz   Metrics: {url}/metrics\n"
    "The kotae commands go through this process. Ctrl-C stops it.",
    ja="ブラウザー: {url}  （ボットを試せるチャンネル、文書、検索、未回答の質問、メトリクス）\n"
    "API: {url}  （POST {url}/chat、GET {url}/search?query=…。仕様: {url}/openapi.json）\n"
    "稼働状態: {url}/readyz   メトリクス: {url}/metrics\n"
    "kotae の各コマンドはこのプロセスを通じて動きます。Ctrl-C で終了します。",
)


@dataclass(frozen=True, slots=True)
class Address:
    """An address that is taken, and not listened at yet: until then whoever connects is refused."""

    host: str
    sockets: tuple[socket.socket, ...]
    token: SecretStr | None = None  # what programs have to send; None: nothing
    front: str | None = None  # the address that people reach it at, such as `https://kotae.example.com`; None: this one

    @property
    def port(self) -> int:
        return int(self.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        host = "localhost" if self.host in _ANY else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def hosts(self) -> frozenset[str] | None:
        """The names it is called by in requests; None: any, where only the token counts."""
        if self.host in _ANY:
            return None
        front = {_name(self.front)} if self.front else set()
        return frozenset({*_LOOPBACK, *front, f"[{self.host}]" if ":" in self.host else self.host.lower()})

    def links(self, *, shared: bool) -> str:
        """The beginning of links to the pages. `shared`: others than who sits at this machine read them; empty where
        the address would lead each of them to a machine of their own: such links are for within the pages."""
        if self.front is not None:
            return self.front
        return "" if self.host in _ANY or (shared and _is_loopback(self.host)) else self.url

    def banner(self, language: Language) -> str:
        return _BANNER.to(language, url=self.front or self.url)


def listen(host: str, port: int, *, token: SecretStr | None, front: str | None = None) -> Address:
    """Take an address; port 0: any free one; `front`: where people reach it. Raises SettingsError: no token where
    others do, or it is not free."""
    if not _is_loopback(host) and token is None:
        raise SettingsError(filled(_NO_TOKEN, host=host))
    if front is not None and not _is_loopback(_name(front).strip("[]")) and token is None:
        raise SettingsError(filled(_NO_TOKEN_FOR, url=front))
    taken: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in _addresses(host, port):
            one = socket.socket(family, kind, protocol)
            taken.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind((address[0], taken[0].getsockname()[1] if len(taken) > 1 else port, *address[2:]))
            one.listen(_BACKLOG)  # a second one is told now, not when everything is loaded
            one.setblocking(False)
    except OSError as error:
        for one in taken:
            one.close()
        problem = _BUSY if error.errno == errno.EADDRINUSE else _UNUSABLE
        raise SettingsError(filled(problem, host=host, port=str(port), why=os_reason(error))) from error
    return Address(host, tuple(taken), token, front)


def listen_in(home: Path) -> socket.socket:
    """Take the home's socket, mode 0600; the caller owns the home, so what is left there is of a dead process.

    Raises OSError.
    """
    path = home / SOCKET
    path.unlink(missing_ok=True)
    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with short(path) as address:
            one.bind(address)
        path.chmod(0o600)  # before it listens: until then nobody can connect
        one.listen(_BACKLOG)
        one.setblocking(False)
    except OSError:
        one.close()
        raise
    return one


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, int, int, str, tuple[str | int, ...]]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except UnicodeError as error:  # of what can be no name: two dots
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from error
    usable = [each for each in found if each[0] != socket.AF_INET6 or _has_ipv6()]
    return [(*each[:4], tuple(each[4])) for each in (usable or found)]


def _has_ipv6() -> bool:
    """Whether this machine really has it: /etc/hosts names ::1 in many containers that do not."""
    if not socket.has_ipv6:
        return False
    with closing(socket.socket(socket.AF_INET6)) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return False
    return True


def without_port(host: str) -> str:
    """The name of `name:port`, and of a name alone."""
    return _PORT.sub("", host)


def _name(front: str) -> str:
    return without_port(urlsplit(front).netloc)


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
