"""Malformed and malicious property lists end in one error."""

from __future__ import annotations

import plistlib

import pytest

from distconfig.errors import UnexpectedOutput
from distconfig.probes.plist import parse_plist, walk_dicts

HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n'
LAUGHS = (
    b"<!DOCTYPE plist [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'>]>\n"
    b"<plist version='1.0'><string>&b;</string></plist>"
)


def document(body: bytes) -> bytes:
    return HEAD + b'<plist version="1.0">' + body + b"</plist>\n"


def test_a_property_list_in_xml_is_read() -> None:
    assert parse_plist(plistlib.dumps({"a": [1, True, b"x"]})) == {"a": [1, True, b"x"]}


@pytest.mark.parametrize(
    "stdout",
    [
        b"",
        b"ioreg: error: can't obtain properties.\n",
        HEAD,
        HEAD + LAUGHS,
        document(b"<dict><key>a</key></dict>"),
        document(b"<dict><string>a</string></dict>"),
        document(b"<array><integer>x</integer></array>"),
        document(b"<integer/>"),
        document(b"<integer>" + b"9" * 10_000 + b"</integer>"),
        document(b"<date>yesterday</date>"),
        document(b"<data>QQ</data>"),
        document(b"<key>a</key>"),
        document(b"<string>\xff</string>"),
        document(b"<array>" * 10)[:-9],
        plistlib.dumps({"a": 1}, fmt=plistlib.FMT_BINARY),
    ],
)
def test_anything_else_is_refused(stdout: bytes) -> None:
    with pytest.raises(UnexpectedOutput):
        parse_plist(stdout)


def test_dictionaries_are_walked_parents_first_without_recursion() -> None:
    deep: dict[str, object] = {"n": 0}
    for number in range(1, 5_000):
        deep = {"n": number, "below": [deep]}
    assert [each["n"] for each in walk_dicts(deep, "below")] == list(range(4_999, -1, -1))


def test_what_is_no_dictionary_is_passed_over() -> None:
    tree = [{"n": 1, "below": [7, "x", {"n": 2}]}, None, {"n": 3, "below": "none"}]
    assert [each["n"] for each in walk_dicts(tree, "below")] == [1, 2, 3]
