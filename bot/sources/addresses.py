"""Addresses of hosts that a source may reach: those of the public internet, unless the own network is allowed.
Source: reliability.md R40; RFC 6890."""

import asyncio
import ipaddress
import socket

from bot.sources.base import SourceError
from retrieval.i18n import Text

_UNKNOWN = Text(en="The host {host} is not known.", ja="ホスト {host} が見つかりません。")
_PRIVATE = Text(
    en="{host} is an address of your own network. Set KOTAE_PRIVATE_SOURCES=on to follow it.",
    ja="{host} は社内ネットワークのアドレスです。同期するには KOTAE_PRIVATE_SOURCES=on を設定してください。",
)

# What Python's older versions take for public: IETF's own (RFC 6890; there Oracle keeps its machines' secrets), an end
# of 6to4 (RFC 7526), examples (RFC 9637), and what Azure tells its machines.
_MACHINES = ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20", "168.63.129.16/32")
_OF_MACHINES = [ipaddress.ip_network(network) for network in _MACHINES]
_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # IPv4 as networks without it have it: RFC 6052


async def resolved(host: str, port: int) -> str:
    """The address to connect to, so that what was looked at is what is reached. Raises SourceError for a host that is
    not known, or has any address that is not public."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:  # a part of a name that is too long is no Unicode, says Python
        raise SourceError(_UNKNOWN, host=host) from error
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    if not addresses or not all(public(address) for address in addresses):
        raise SourceError(_PRIVATE, host=host)
    return addresses[0]


def public(address: str) -> bool:
    """Whether it is on the public internet, also behind a form of IPv6 that holds an IPv4 address."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if any(ip in network for network in _OF_MACHINES):
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ipaddress.IPv4Address(ip.packed[-4:]) if ip in _NAT64 else ip.ipv4_mapped or ip.sixtofour
        own = ip.is_site_local or (ip.is_reserved and ip not in _NAT64)
        return ip.is_global and not ip.is_multicast and not own and (inner is None or public(str(inner)))
    return ip.is_global and not ip.is_multicast
