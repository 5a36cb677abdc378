"""The table of checks: what is looked at, in this order, and what each can find."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from distconfig.doctor import access, cabling, networks, protection, systems
from distconfig.doctor.evidence import Evidence
from distconfig.doctor.findings import Finding, Kind, Severity

__all__ = ["CHECKS", "Check", "find_all", "worst_first"]


@dataclass(frozen=True)
class Check:
    """One look at the evidence.

    Args:
        what: What is looked at, for a person.
        kinds: Everything it can find.
    """

    what: str
    find: Callable[[Evidence], Iterable[Finding]]
    kinds: tuple[Kind, ...]


CHECKS: tuple[Check, ...] = (
    Check(
        "reaching every host over ssh",
        access.find_failures,
        (
            access.HOST_UNREACHABLE,
            access.HOST_SILENT,
            access.SSH_REFUSED,
            access.HOST_KEY,
            access.NOT_UNDERSTOOD,
        ),
    ),
    Check("names of one machine", access.find_twins, (access.SAME_MACHINE,)),
    Check("Remote Login", access.find_login_restrictions, (access.LOGIN_RESTRICTED,)),
    Check("sudo", access.find_sudo_trouble, (access.SUDO_PASSWORD, access.SUDO_MISSING)),
    Check("Python", access.find_python_trouble, (access.PYTHON_MISSING, access.PYTHON_DIFFERS)),
    Check("versions of macOS", systems.find_macos_differences, (systems.MACOS_DIFFERS,)),
    Check(
        "Thunderbolt",
        systems.find_missing_thunderbolt,
        (systems.NO_THUNDERBOLT, systems.NOT_A_MAC),
    ),
    Check(
        "programs that undo a setup",
        systems.find_foreign_agents,
        (systems.EXO_DAEMON, systems.EXO_LOCATION, systems.NETWORK_DAEMON),
    ),
    Check(
        "cables",
        cabling.find_doubtful_cables,
        (
            cabling.LOOPED_CABLE,
            cabling.PORT_SHARED,
            cabling.THROUGH_DOCK,
            cabling.ONE_SIDED,
            cabling.AMBIGUOUS_PORT,
        ),
    ),
    Check("hosts not named", cabling.find_strangers, (cabling.STRANGER,)),
    Check("trained speeds", cabling.find_slow_links, (cabling.SLOW_LINK,)),
    Check(
        "ports",
        cabling.find_port_trouble,
        (cabling.PORT_WITHOUT_INTERFACE, cabling.PORT_DOWN, cabling.MTU_DIFFERS),
    ),
    Check("bridges", cabling.find_bridge_trouble, (cabling.BRIDGE_LOOP, cabling.BRIDGED_ADDRESS)),
    Check(
        "addresses",
        networks.find_address_trouble,
        (networks.TWO_ADDRESSES, networks.SUBNET_TWICE, networks.LINK_LOCAL_ELSEWHERE),
    ),
    Check(
        "routes",
        networks.find_route_trouble,
        (networks.PEER_ELSEWHERE, networks.DEFAULT_ROUTE),
    ),
    Check("VPNs", networks.find_vpns, (networks.VPN_FULL_TUNNEL, networks.VPN_ACTIVE)),
    Check("Internet Sharing", networks.find_sharing, (networks.INTERNET_SHARING,)),
    Check(
        "firewalls",
        protection.find_firewalls,
        (
            protection.FIREWALL_BLOCKS_ALL,
            protection.FIREWALL_STEALTH,
            protection.FIREWALL_ON,
        ),
    ),
    Check(
        "Local Network privacy",
        protection.find_privacy_refusals,
        (protection.LOCAL_NETWORK_PRIVACY,),
    ),
)


def find_all(evidence: Evidence) -> tuple[Finding, ...]:
    """Everything all checks find, worst first."""
    return worst_first(finding for check in CHECKS for finding in check.find(evidence))


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings by severity, otherwise in the order given."""
    order = list(Severity)
    return tuple(sorted(findings, key=lambda finding: order.index(finding.severity)))
