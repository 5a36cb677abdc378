"""Text with every identifier replaced by its pseudonym, in whatever form it is written."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from uuid import UUID

from distconfig.errors import UnexpectedOutput
from distconfig.probes.netstat import parse_destination
from distconfig.recordings.identifiers import Identifiers, is_plain_word
from distconfig.recordings.pseudonyms import Pseudonyms
from distconfig.recordings.scrambled_addresses import ScrambledAddresses

__all__ = ["Renaming"]

_SHAPES = {
    "uuid": r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Fa-f])",
    "uid": r"0x[0-9A-Fa-f]{16}(?![0-9A-Fa-f])",
    "fingerprint": r"SHA256:[A-Za-z0-9+/]{43}",
    "colons": r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:.])",
    "quad": r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])",
    "integer": r"(?<=<integer>)-?\d{12,20}(?=</integer>)",
    "guid": r"(?<![0-9A-Za-z])[0-9A-Fa-f]{16}(?![0-9A-Za-z])",
    "data": r"<data>[A-Za-z0-9+/=\s]*</data>",
}
_NETMASKS = frozenset(str(IPv4Address((0xFFFFFFFF << n) & 0xFFFFFFFF)) for n in range(33))


class Renaming:
    """Replaces the identifiers of one recording.

    Args:
        found: What to replace beside what shows by its shape.
        numbers: The map of IPv4 addresses.
    """

    def __init__(self, found: Identifiers, numbers: ScrambledAddresses) -> None:
        self._numbers = numbers
        words = {name.lower() for _, name in found.names}
        self._pseudonyms = Pseudonyms(frozenset(words))
        self._words = {
            name.lower(): self._pseudonyms.word(kind, name)
            for kind, name in (*found.names, *(("SERIAL", serial) for serial in found.serials))
        }
        rare = [name for name in self._words if not is_plain_word(name)]
        self._careful = _pattern(rare)
        self._thorough = _pattern(list(self._words))
        self._replace: dict[str, Callable[[str], str]] = {
            "uuid": self._uuid,
            "uid": self._uid,
            "guid": self._guid,
            "fingerprint": lambda text: f"SHA256:{self._pseudonyms.word('key', text)}",
            "colons": self._colons,
            "quad": self._quad,
            "integer": self._integer,
            "data": self._data,
            "name": lambda text: self._words[text.lower()],
        }

    def text(self, text: str, *, thorough: bool = False) -> str:
        """The text with pseudonyms.

        Args:
            thorough: Also replace names that are ordinary words.
        """
        pattern = self._thorough if thorough else self._careful
        return pattern.sub(lambda match: self._replace[match.lastgroup or ""](match[0]), text)

    def network(self, network: IPv4Network) -> IPv4Network:
        """The network that stands for this one."""
        return self._numbers.scramble_network(network)

    def destination(self, word: str) -> str:
        """A destination as ``netstat`` abbreviates it, replaced with as many octets or more."""
        number, slash, length = word.partition("/")
        try:
            network = self._numbers.scramble_network(parse_destination(word, word))
        except UnexpectedOutput:
            return word
        octets = str(network.network_address).split(".")
        count = number.count(".") + 1
        while count < 4 and any(octet != "0" for octet in octets[count:]):
            count += 1
        return ".".join(octets[:count]) + slash + length

    def _uuid(self, text: str) -> str:
        made = str(self._pseudonyms.uuid(UUID(text)))
        return made.upper() if text == text.upper() else made

    def _uid(self, text: str) -> str:
        made = self._pseudonyms.switch_uid(bytes.fromhex(text[2:])).hex()
        return "0x" + (made if text[2:] == text[2:].lower() else made.upper())

    def _guid(self, text: str) -> str:
        """A node GUID is a switch UID with its bytes reversed."""
        made = self._pseudonyms.switch_uid(bytes.fromhex(text)[::-1])[::-1].hex()
        return made if text == text.lower() else made.upper()

    def _integer(self, text: str) -> str:
        """A number in an ioreg that is a switch UID; others say nothing about anybody."""
        value = (int(text) % (1 << 64)).to_bytes(8, "big")
        if not self._pseudonyms.knows_uid(value):
            return text
        return str(int.from_bytes(self._pseudonyms.switch_uid(value), "big"))

    def _colons(self, text: str) -> str:
        """A MAC address, an IPv6 address, a GUID in four groups, or something else."""
        groups = text.split(":")
        if len(groups) == 6 and all(0 < len(group) <= 2 for group in groups):
            made = self._pseudonyms.mac(bytes(int(group, 16) for group in groups))
            width = "02x" if all(len(group) == 2 for group in groups) else "x"
            words = ":".join(format(octet, width) for octet in made)
            return words if text == text.lower() else words.upper()
        if len(groups) == 4 and all(len(group) == 4 for group in groups):
            made_guid = self._guid("".join(groups))
            return ":".join(made_guid[at : at + 4] for at in range(0, 16, 4))
        try:
            return str(self._pseudonyms.ipv6(IPv6Address(text)))
        except ValueError:
            return text

    def _quad(self, text: str) -> str:
        if text in _NETMASKS:
            return text
        try:
            return str(self._numbers.scramble(IPv4Address(text)))
        except ValueError:
            return text

    def _data(self, text: str) -> str:
        """Data of a property list: MAC addresses and UUIDs replaced, everything else blanked."""
        inside = text.removeprefix("<data>").removesuffix("</data>")
        try:
            value = base64.b64decode("".join(inside.split()), validate=True)
        except (binascii.Error, ValueError):
            return "<data></data>"
        if len(value) == 6:
            made = self._pseudonyms.mac(value)
        elif len(value) == 16:
            made = self._pseudonyms.uuid(UUID(bytes=value)).bytes
        else:
            made = bytes(len(value))
        letters = iter(base64.b64encode(made).decode())
        kept = "".join(char if char.isspace() else next(letters) for char in inside)
        return f"<data>{kept}</data>"


def _pattern(names: list[str]) -> re.Pattern[str]:
    """Shapes and names in one expression, longer names first."""
    parts = [f"(?P<{kind}>{shape})" for kind, shape in _SHAPES.items()]
    if names:
        words = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        parts.append(rf"(?P<name>(?i:(?<![^\W_])(?:{words})(?![^\W_])))")
    return re.compile("|".join(parts))
