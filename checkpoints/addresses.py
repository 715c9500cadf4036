"""Which addresses may be reached from here. Pure: no name is resolved.

An IPv6 address can carry an IPv4 address that some router on the way will reach for
us. So both are judged: the address as written, and every address inside it.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

type Address = IPv4Address | IPv6Address
type Network = IPv4Network | IPv6Network

_NAT64: Final = IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = IPv6Network("::/96")  # deprecated, and still routed by some
# Set apart after the tables of the standard library were made, or kept in them as public:
# relays that carry IPv6 in IPv4, examples for books, and segments of an operator's route.
_SET_APART: Final = (
    IPv4Network("192.88.99.0/24"),
    IPv6Network("3fff::/20"),
    IPv6Network("5f00::/16"),
)
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})
"""How the lower half of an address begins that a site's router turns into IPv4."""
# Cloud services that answer any machine inside, at an address that looks public.
_INSIDE: Final = frozenset({IPv4Address("168.63.129.16")})


@lru_cache(maxsize=16)
def networks(texts: tuple[str, ...]) -> tuple[Network, ...]:
    """The CIDRs of a setting. Raises ValueError for one that is none."""
    return tuple(ip_network(text.strip()) for text in texts)


def refused_address(text: str, allowed: Iterable[Network]) -> str:
    """Why the address may not be reached, in words; empty if it may.

    `allowed` networks may be reached although they are private.
    """
    address = _unmapped(ip_address(text.partition("%")[0]))
    for each in (address, *_embedded(address)):
        if not _is_public(each) and not any(each in network for network in allowed):
            return "not a public address"
    return ""


def _unmapped(address: Address) -> Address:
    """`::ffff:a.b.c.d` is only another way of writing a.b.c.d."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _embedded(address: Address) -> Iterator[IPv4Address]:
    if isinstance(address, IPv4Address):
        return
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo
    if address in _NAT64 or address in _COMPATIBLE:
        yield IPv4Address(int(address) & 0xFFFFFFFF)


def _is_public(address: Address) -> bool:
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not address.is_unspecified
        and not getattr(address, "is_site_local", False)
        and address not in _INSIDE
        and not any(address in network for network in _SET_APART)
        and not _is_isatap(address)
    )


def _is_isatap(address: Address) -> bool:
    lower_half = int(address) & 0xFFFF_FFFF_FFFF_FFFF
    return address.version == 6 and lower_half >> 32 in _ISATAP
