"""What needs no ssh loads none of it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from distconfig.ssh import connect_hosts
from distconfig.recordings.probe import record_hosts
found = connect_hosts(["localhost", "127.0.0.1"])
assert found["localhost"].run("echo local", timeout_s=20).stdout == b"local\\n"
assert record_hosts(found).hosts[1].error is None
print(sorted({name.split(".")[0] for name in sys.modules} & {"paramiko", "cryptography"}))
"""


def test_this_machine_is_asked_without_loading_paramiko() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
