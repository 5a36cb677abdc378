"""A host's report: every probe but two may fail, and costs only its facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

import pytest

from distconfig.errors import InconsistentReport, ReportError, UnexpectedOutput
from distconfig.hosts.shell import Completed
from distconfig.recordings.recording import HostRecording
from distconfig.reports.report import Bridge, HostReport, Receptacle, assemble
from tests.fakemac import Bridge as FakeBridge
from tests.fakemac import LinuxHost, Mac, connect


def studio() -> dict[str, Completed]:
    one, two = Mac("studio1"), Mac("studio2")
    connect(one, 1, two, 3)
    return one.answers()


def report_of(answers: Mapping[str, Completed]) -> HostReport:
    return assemble(HostRecording("studio1", answers))


def changed(probe: str, stdout: bytes, *, returncode: int = 0) -> dict[str, Completed]:
    answers = studio()
    answers[probe] = replace(answers[probe], stdout=stdout, returncode=returncode)
    return answers


def lacking(*probes: str) -> dict[str, Completed]:
    return {name: done for name, done in studio().items() if name not in probes}


def test_everything_a_mac_says() -> None:
    found = report_of(studio())
    assert (found.host, found.platform, found.computer_name) == ("studio1", "Darwin", "studio1")
    assert (found.model, found.os_version, found.rdma_status) == ("Mac16,9", "26.4", "enabled")
    assert found.hardware_uuid == UUID(Mac("studio1").uuid("hardware"))
    assert [each.interface for each in found.receptacles] == ["en2", "en3", "en4", "en5"]
    assert found.ssh_connection == ("192.168.1.10", "52144", "192.168.1.21", "22")
    assert found.bridges == (Bridge("bridge0", True, ("en2", "en3", "en4", "en5")),)
    assert ("Thunderbolt 1", "en2") in found.hardware_ports
    assert found.services == (
        ("Ethernet", "en0", True),
        ("Thunderbolt Bridge", "bridge0", True),
        ("Wi-Fi", "en1", True),
    )
    assert found.sudo is not None
    assert found.sudo.everything
    assert str(found.routes[0].gateway) == "192.168.1.1"
    assert (found.notes, found.problems, found.unread) == ((), (), ())


def test_a_bridge_is_found_whatever_its_name() -> None:
    mac = Mac("studio1", bridge=FakeBridge("bridge7", is_up=False, members=("en3",)))
    assert report_of(mac.answers()).bridges == (Bridge("bridge7", False, ("en3",)),)


@pytest.mark.parametrize("probe", ["uname", "system_profiler"])
def test_two_probes_can_not_be_done_without(probe: str) -> None:
    with pytest.raises(ReportError, match="it was not recorded") as caught:
        report_of(lacking(probe))
    assert (caught.value.host, caught.value.probe) == ("studio1", probe)
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("probe", ["uname", "system_profiler"])
def test_their_last_words_are_passed_on(probe: str) -> None:
    answers = studio()
    answers[probe] = Completed(("x",), 1, stderr=b"one\ntwo: failed\n")
    with pytest.raises(ReportError, match="did not answer: two: failed"):
        report_of(answers)


@pytest.mark.parametrize("probe", ["uname", "system_profiler"])
def test_output_that_can_not_be_read_names_host_and_probe(probe: str) -> None:
    with pytest.raises(UnexpectedOutput) as caught:
        report_of(changed(probe, b"Killed: 9\n"))
    assert (caught.value.host, caught.value.probe) == ("studio1", probe)
    assert caught.value.at == "Killed: 9"
    assert "--save" in str(caught.value)


def test_the_property_list_is_read_where_json_is_not_known() -> None:
    mac = Mac("old", "MacBookPro16,1", "10.14.6")
    found = report_of(mac.answers())
    assert [each.label for each in found.receptacles] == ["1", "2", "3", "4"]


def test_a_property_list_that_can_not_be_read_costs_the_host() -> None:
    answers = Mac("old", "MacBookPro16,1", "10.14.6").answers()
    answers["system_profiler_xml"] = replace(answers["system_profiler_xml"], stdout=b"no\n")
    with pytest.raises(UnexpectedOutput) as caught:
        report_of(answers)
    assert caught.value.probe == "system_profiler_xml"


def test_two_receptacles_with_one_number_cost_the_host() -> None:
    text = studio()["system_profiler"].stdout
    twice = text.replace(b'"receptacle_id_key" : "2"', b'"receptacle_id_key" : "1"')
    with pytest.raises(InconsistentReport) as caught:
        report_of(changed("system_profiler", twice))
    assert (caught.value.host, caught.value.probe) == ("studio1", "system_profiler")


OTHER_PROBES = sorted(set(studio()) - {"uname", "system_profiler"})


@pytest.mark.parametrize("probe", OTHER_PROBES)
def test_every_other_probe_may_be_missing(probe: str) -> None:
    found = report_of(lacking(probe))
    assert [each.interface for each in found.receptacles] == ["en2", "en3", "en4", "en5"]
    if probe not in ("sudo_list",):
        assert found.unread == (probe,)


@pytest.mark.parametrize(
    "probe", [name for name in OTHER_PROBES if name not in ("sudo", "sudo_list")]
)
def test_every_other_probe_may_print_nonsense(probe: str) -> None:
    found = report_of(changed(probe, b"}{ \xff\x00 no end of line"))
    assert [each.interface for each in found.receptacles] == ["en2", "en3", "en4", "en5"]
    assert found.unread == (probe,)
    assert [problem.split(" was not understood")[0] for problem in found.problems] == [probe]


def test_the_offending_line_is_shown() -> None:
    found = report_of(changed("ifconfig", b"en2: flags=\n"))
    assert found.problems == (
        "ifconfig was not understood: not the first line of an interface: 'en2: flags='.",
    )
    assert found.interfaces == ()


def test_what_is_not_known_is_said() -> None:
    answers = changed("netstat", b"", returncode=1)
    answers["netstat"] = replace(answers["netstat"], stderr=b"netstat: sysctl: busy\n")
    assert report_of(answers).problems == (
        "netstat: netstat: sysctl: busy; its routes are not known.",
    )


@pytest.mark.parametrize("probe", ["ibv_devices", "rdma_ctl", "network_interfaces", "ioreg_ports"])
def test_a_second_source_that_is_not_there_is_no_problem(probe: str) -> None:
    assert report_of(lacking(probe)).problems == ()


def test_without_networksetup_and_ioreg_the_store_names_the_interfaces() -> None:
    found = report_of(lacking("networksetup_ports", "ioreg_ports"))
    assert [each.interface for each in found.receptacles] == ["en2", "en3", "en4", "en5"]


def test_without_any_source_each_port_has_a_problem() -> None:
    sources = ("networksetup_ports", "ioreg_ports", "network_interfaces", "ibv_devices")
    found = report_of(lacking(*sources))
    assert [each.interface for each in found.receptacles] == [None] * 4
    assert {each.interface_problem for each in found.receptacles} == {
        "neither ioreg nor networksetup names an interface for it"
    }


def test_unknown_lines_become_notes() -> None:
    found = report_of(changed("sw_vers", b"ProductVersion:\t\t26.4\nMood:\tgood\n"))
    assert found.notes == ("sw_vers: Mood:\tgood",)


def test_problems_of_the_listing_reach_the_report() -> None:
    text = studio()["system_profiler"].stdout.decode()
    own = Mac("studio1").domain_uuid(4)
    gone = text.replace(f'      "domain_uuid_key" : "{own}",\n', "")
    found = report_of(changed("system_profiler", gone.encode()))
    assert [each.label for each in found.receptacles] == ["1", "2", "3"]
    assert found.problems == (
        "$.SPThunderboltDataType[0] has no domain UUID; its ports were left out.",
    )


@pytest.mark.parametrize(
    ("kernel", "platform"),
    [("Linux 6.12.9-generic x86_64", "Linux"), ("FreeBSD 14 amd64", "FreeBSD")],
)
def test_a_host_that_is_no_mac_is_recognised(kernel: str, platform: str) -> None:
    answers = LinuxHost("nuc").answers()
    answers["uname"] = replace(answers["uname"], stdout=f"{kernel}\n".encode())
    found = report_of(answers)
    assert (found.platform, found.receptacles) == (platform, ())
    assert found.problems == (f"{platform} hosts are not supported yet; its ports were not read.",)
    assert found.ssh_connection == ("192.168.1.10", "52144", "192.168.1.90", "22")


def test_a_receptacle_is_found_by_its_label() -> None:
    found = report_of(studio())
    assert found.receptacle("3").interface == "en4"
    with pytest.raises(KeyError):
        found.receptacle("9")


def test_an_interface_is_found_by_its_name() -> None:
    found = report_of(studio())
    state = found.interface("en0")
    assert state is not None
    assert [str(each) for each in state.addresses] == ["192.168.1.21/24"]
    assert found.interface("en99") is None


def test_a_receptacle_needs_an_interface_or_a_reason() -> None:
    with pytest.raises(ValueError, match="neither interface nor problem"):
        Receptacle("1", UUID(int=1))


def test_labels_can_not_repeat() -> None:
    port = Receptacle("1", UUID(int=1), "en2")
    with pytest.raises(ValueError, match="labels repeat"):
        HostReport("studio1", receptacles=(port, port))
