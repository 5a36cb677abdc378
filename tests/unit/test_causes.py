"""What errno 60, 61, 65 and others mean, said in plain words."""

from __future__ import annotations

import errno

import pytest

from ring_runtime.causes import explain_connect, explain_loss, name_errno


def test_errno_65_names_the_cable_the_reboot_and_local_network_privacy() -> None:
    text = explain_connect(65, platform="darwin")
    assert text.startswith("errno 65, no route to host: the cable is out")
    assert "reboot" in text
    assert "Local Network permission" in text
    assert "ssh localhost" in text
    assert "Privacy & Security" in text


def test_errno_60_names_sleep_firewall_and_the_wrong_interface() -> None:
    text = explain_connect(60, platform="darwin")
    assert text.startswith("errno 60, nobody answered in time: the host sleeps, a firewall")
    assert "route -n get" in text


def test_errno_61_says_that_the_rank_is_not_there() -> None:
    assert explain_connect(61, platform="darwin") == (
        "errno 61, connection refused: the host is up and nothing listens on that TCP port, so "
        "that rank has not started yet, has failed, or was told another address"
    )


@pytest.mark.parametrize("name", ["EHOSTUNREACH", "ETIMEDOUT", "ECONNREFUSED", "EADDRINUSE"])
def test_the_same_words_stand_beside_the_number_of_this_platform(name: str) -> None:
    number = getattr(errno, name)
    assert explain_connect(number, platform="linux").startswith(f"errno {number}, ")
    assert "Local Network permission" not in explain_connect(number, platform="linux")
    assert name_errno(number, platform="linux") == name


def test_a_pulled_cable_is_named_as_such() -> None:
    assert explain_loss(60, platform="darwin") == (
        "errno 60, no sign of life for seven seconds: the cable was pulled or the host is down"
    )
    assert explain_loss(errno.ETIMEDOUT, platform="linux") == (
        f"errno {errno.ETIMEDOUT}, no sign of life for seven seconds: "
        "the cable was pulled or the host is down"
    )


def test_an_unknown_number_is_still_shown() -> None:
    assert explain_connect(9999, platform="linux") == "errno 9999, unknown"
    assert explain_loss(errno.EIO, platform="linux") == f"errno {errno.EIO}, EIO"
