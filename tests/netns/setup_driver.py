"""A setup in two halves, run on the operator's machine: the plan, then a line, then the rest.

Between the halves a test changes the world. Prints the error's class and text, or "done".
"""

from __future__ import annotations

import os
import sys

from distconfig.errors import DistconfigError
from distconfig.hosts.shell import Shell
from distconfig.recordings.probe import record_hosts
from distconfig.setup import apply
from distconfig.setup.addressing import plan_addresses
from distconfig.setup.journal import journal_folder
from distconfig.setup.setup_script import plan_setup
from distconfig.ssh import SshConnection, connect_hosts
from distconfig.survey import survey_recording


def main(hosts: list[str], dead_man_s: int, wait_s: int) -> None:
    """Plan, say so, wait for a line, apply; hosts wait so long for each other's answers."""
    apply._WAIT_FOR_PEERS_S = wait_s
    apply._APPLY_TIMEOUT_S = wait_s + 30.0
    connections = connect_hosts(hosts)
    recording = record_hosts(connections)
    topology = survey_recording(recording).topology
    scripts = plan_setup(topology, None, plan_addresses(topology, recording.operator))
    print("planned", flush=True)
    sys.stdin.readline()
    shells: dict[str, Shell] = {
        host: each for host, each in connections.items() if isinstance(each, SshConnection)
    }
    try:
        apply.apply_setup(
            shells, scripts, journals=journal_folder(os.environ), dead_man_s=dead_man_s
        )
    except DistconfigError as error:
        print(f"{type(error).__name__}: {error}")
    else:
        print("done")


if __name__ == "__main__":
    main(sys.argv[1].split(","), int(sys.argv[2]), int(sys.argv[3]))
