"""When a plan is refused although there is a ring."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from distconfig.cluster_plan import PlanOptions, plan_cluster
from distconfig.errors import AddressError
from distconfig.recordings.recording import load_recording
from distconfig.survey import Survey, survey_recording

POOL = IPv4Network("10.99.0.0/24")


def without(root: Path, probe: str) -> Survey:
    """The triangle, of which the second host did not answer one probe."""
    recording = load_recording(root / "fixtures" / "triangle")
    first, second, third = recording.hosts
    probes = {name: answer for name, answer in second.probes.items() if name != probe}
    return survey_recording(
        replace(recording, hosts=(first, replace(second, probes=probes), third))
    )


@pytest.mark.parametrize(
    ("probe", "pool", "message"),
    [
        ("ifconfig", None, "the addresses and bridges of mini2 are not known"),
        ("ifconfig", POOL, "the addresses and bridges of mini2 are not known"),
        ("netstat", None, "the routes of mini2 are not known"),
    ],
)
def test_addresses_are_never_chosen_without_looking(
    root: Path, probe: str, pool: IPv4Network | None, message: str
) -> None:
    with pytest.raises(AddressError, match=message) as caught:
        plan_cluster(without(root, probe), PlanOptions(pool=pool))
    assert caught.value.exit_code == 6


@pytest.mark.parametrize("probe", ["netstat", "sw_vers", "networksetup_services", "ibv_devices"])
def test_other_probes_cost_only_their_facts(root: Path, probe: str) -> None:
    plan = plan_cluster(without(root, probe), PlanOptions(pool=POOL))
    assert plan.ring is not None
    assert plan.ring.hosts == ("mini1", "mini2", "mini3")
