"""known_hosts lines, checked against keys, fingerprints and hashes that OpenSSH made."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distconfig.ssh.known_hosts import (
    HostKey,
    KnownHost,
    Verdict,
    find_known_keys,
    judge_host_key,
    parse_known_hosts,
    render_known_host,
)

# From `ssh-keygen -t ed25519` and `-t ecdsa`, fingerprints from `ssh-keygen -l`.
ED25519 = "AAAAC3NzaC1lZDI1NTE5AAAAIJIBk+kdE0GEF1TkrbsrNEXZ39O+9gYVCtC4cxw/Ztih"
ECDSA = (
    "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBOHrdyJ3/BDXTg9q7Vu1i6KCVUwsUPso03VWe"
    "vse894UAXtn1C8vE7bG5Qi5cCLypq5rNv+cgbUngnKodbVzEmo="
)
MINE = HostKey("ssh-ed25519", base64.b64decode(ED25519))
ECDSA_KEY = HostKey("ecdsa-sha2-nistp256", base64.b64decode(ECDSA))
OTHER = HostKey("ssh-ed25519", MINE.blob[:-1] + b"\0")
# `ssh-keygen -H` over lines for studio1.local and [10.0.0.7]:2222.
HASHED = (
    f"|1|HQCUzJvxf4IOKkJ/AuwJ7AXcWVE=|LJZooJ2JiDJ0/KlxjU+YZ6NHM0Q= ssh-ed25519 {ED25519}\n"
    f"|1|WY3O5LaOyr+TSSeqMsH1SN/Epa4=|JBt4lQRxJdD1RIpOzDpZv/CFXjI= ssh-ed25519 {ED25519}\n"
)


def line(names: str, key: HostKey = MINE, *, is_revoked: bool = False) -> KnownHost:
    return KnownHost(tuple(names.split(",")), key, is_revoked, f"kh:{names}")


def test_fingerprints_are_those_of_ssh_keygen() -> None:
    assert MINE.fingerprint == "SHA256:GMe0fWUWdOC/yNkMiW2xEquSAQlgKI+q+CM09QsyDy0"
    assert ECDSA_KEY.fingerprint == "SHA256:rtcOV1MLL/nauFlI0dkLTMli4t8lam+72r/ctOkMn98"


def test_types_as_ssh_keyscan_takes_them() -> None:
    types = ["ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp521"]
    assert [HostKey(kind, b"").short_type for kind in types] == ["ed25519", "rsa", "ecdsa"]


def test_every_kind_of_line() -> None:
    text = (
        "# a comment\n"
        "\n"
        f"studio1,10.0.0.7 ssh-ed25519 {ED25519} ada@home\n"
        f"\t@revoked * ssh-ed25519 {ED25519}\r\n"
        f"@cert-authority *.local ssh-ed25519 {ED25519}\n"
        f"studio2 ecdsa-sha2-nistp256 {ECDSA}"
    )
    known, notes = parse_known_hosts(text.encode(), "kh")
    assert known == (
        KnownHost(("studio1", "10.0.0.7"), MINE, False, "kh:3"),
        KnownHost(("*",), MINE, True, "kh:4"),
        KnownHost(("studio2",), ECDSA_KEY, False, "kh:6"),
    )
    assert notes == ("kh:5: a @cert-authority line is skipped, only plain keys are compared",)


@pytest.mark.parametrize(
    "broken",
    [
        "studio1",
        "studio1 ssh-ed25519",
        "studio1 ssh-ed25519 not*base64",
        f"studio1 ssh-ed25519 {ED25519[:-3]}",
        f"studio1 ssh-rsa {ED25519}",
        f"@unheard-of studio1 ssh-ed25519 {ED25519}",
        "@revoked",
        "studio1 1024 35 123456789",
    ],
)
def test_a_line_that_is_not_understood_costs_only_itself(broken: str) -> None:
    content = f"{broken}\nstudio2 ssh-ed25519 {ED25519}\n".encode()
    known, notes = parse_known_hosts(content, "kh")
    assert known == (KnownHost(("studio2",), MINE, False, "kh:2"),)
    assert notes == ("kh:1: a line that can not be read is skipped",)


@given(st.lists(st.binary(max_size=60).filter(lambda each: b"\n" not in each), max_size=8))
def test_no_bytes_hide_the_line_after_them(lines: list[bytes]) -> None:
    good = f"studio2 ssh-ed25519 {ED25519}".encode()
    known, _ = parse_known_hosts(b"\n".join([*lines, good]), "kh")
    assert known[-1] == KnownHost(("studio2",), MINE, False, f"kh:{len(lines) + 1}")


@pytest.mark.parametrize(
    ("patterns", "name", "is_found"),
    [
        ("studio1", "studio1", True),
        ("studio1", "studio11", False),
        ("STUDIO1", "studio1", True),
        ("a,studio1,b", "studio1", True),
        ("studio?", "studio1", True),
        ("studio?", "studio", False),
        ("*.local", "studio1.local", True),
        ("*.local", "studio1xlocal", False),
        ("*,!studio1", "studio1", False),
        ("*,!studio1", "studio2", True),
        ("!studio1", "studio2", False),
        ("[10.0.0.7]:2222", "[10.0.0.7]:2222", True),
        ("[10.0.0.7]:2222", "1", False),
    ],
)
def test_names_match_as_in_openssh(patterns: str, name: str, is_found: bool) -> None:
    lines = (line(patterns),)
    assert find_known_keys(lines, name) == (lines if is_found else ())


def test_hashed_names_match() -> None:
    known, notes = parse_known_hosts(HASHED.encode(), "kh")
    assert notes == ()
    assert find_known_keys(known, "studio1.local") == known[:1]
    assert find_known_keys(known, "[10.0.0.7]:2222") == known[1:]
    assert find_known_keys(known, "10.0.0.7") == ()


@pytest.mark.parametrize("name", ["|1|", "|1|a|b|c", "|2|HQCU|LJZo", "|1|***|***"])
def test_a_broken_hash_matches_nothing(name: str) -> None:
    assert find_known_keys((line(name),), "studio1") == ()


def test_a_line_written_is_found_again() -> None:
    plain = render_known_host("[10.0.0.7]:2222", MINE)
    hashed = render_known_host("[10.0.0.7]:2222", MINE, salt=bytes(range(20)))
    assert plain == f"[10.0.0.7]:2222 ssh-ed25519 {ED25519}"
    assert "10.0.0.7" not in hashed
    known, _ = parse_known_hosts(f"{plain}\n{hashed}\n".encode(), "kh")
    assert find_known_keys(known, "[10.0.0.7]:2222") == known
    assert len(known) == 2


@pytest.mark.parametrize(
    ("lines", "verdict", "place"),
    [
        ([], Verdict.UNKNOWN, None),
        ([line("a", OTHER), line("b", MINE)], Verdict.KNOWN, "kh:b"),
        ([line("a", OTHER)], Verdict.CHANGED, "kh:a"),
        ([line("a", ECDSA_KEY), line("b", OTHER)], Verdict.CHANGED, "kh:b"),
        ([line("a", ECDSA_KEY)], Verdict.CHANGED, "kh:a"),
        ([line("a", MINE), line("b", MINE, is_revoked=True)], Verdict.REVOKED, "kh:b"),
        ([line("a", OTHER, is_revoked=True)], Verdict.UNKNOWN, None),
        ([line("a", OTHER, is_revoked=True), line("b", MINE)], Verdict.KNOWN, "kh:b"),
    ],
)
def test_verdicts(lines: list[KnownHost], verdict: Verdict, place: str | None) -> None:
    found, decisive = judge_host_key(lines, MINE)
    assert (found, decisive.place if decisive else None) == (verdict, place)
