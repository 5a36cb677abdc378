"""Host names as typed."""

from __future__ import annotations

import pytest

from distconfig.errors import UsageError
from distconfig.hosts.names import check_host_name, is_this_machine, parse_host_list


def test_a_list_keeps_its_order() -> None:
    text = "studio2,ada@studio1.local, 10.0.0.7 ,fe80::1%en0,[::1]"
    assert parse_host_list(text) == (
        "studio2",
        "ada@studio1.local",
        "10.0.0.7",
        "fe80::1%en0",
        "[::1]",
    )


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("", "a host name is empty", "Separate names by single commas: studio1,studio2."),
        ("a,,b", "a host name is empty", "Separate names by single commas: studio1,studio2."),
        ("a,b,", "a host name is empty", "Separate names by single commas: studio1,studio2."),
        ("a,b,a", "host 'a' is given twice", "Name each host once, in any order."),
        (
            "a,-oProxyCommand=x",
            "'-oProxyCommand=x' is not a host name: it begins with '-'",
            "An option may be missing its value.",
        ),
        (
            "a,b c",
            "'b c' is not a host name",
            "Use a name or alias that ssh knows: letters, digits and . _ - : % @ [ ] only.",
        ),
    ],
)
def test_a_bad_list_is_refused(text: str, what: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_host_list(text)
    assert (caught.value.what, caught.value.hint) == (what, hint)


@pytest.mark.parametrize(
    "name", ["a;b", "a$b", "a\nb", "a\n", "`a`", "a/b", "hôte", "a\x1b[2J", "a'"]
)
def test_a_name_with_another_character_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        check_host_name(name)


def test_three_words_mean_this_machine() -> None:
    names = ["localhost", "127.0.0.1", "::1", "Localhost", "localhost.", "127.0.0.2", "[::1]"]
    assert [name for name in names if is_this_machine(name)] == names[:3]
