"""The least that sudo must allow for a setup and its teardown, as a snippet for sudoers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from distconfig.setup.setup_steps import SetupScript

__all__ = ["render_sudoers"]

_SPECIAL = re.compile(r"([,:=\\])")


def render_sudoers(scripts: Mapping[str, SetupScript], *, user: str = "USER") -> str:
    """For each host the commands that its setup and teardown run, word by word.

    Nothing else becomes possible with it: there is no wildcard, which in
    sudoers would match any number of further words.

    Args:
        user: Who runs them; `USER` to be filled in.

    Example:
        >>> from distconfig.setup.setup_steps import SetupStep
        >>> down = ("/sbin/ifconfig", "en2", "down")
        >>> step = SetupStep(("/sbin/ifconfig", "en2", "up"), "", (down,))
        >>> print(render_sudoers({"a": SetupScript("a", (step,))}, user="ada"), end="")
        # a: sudo visudo -f /etc/sudoers.d/distributed_config
        ada ALL = (root) NOPASSWD: \\
            /sbin/ifconfig en2 up, \\
            /sbin/ifconfig en2 down
    """
    blocks = []
    for host, script in scripts.items():
        if not script.commands:
            continue
        commands = [
            " ".join(_SPECIAL.sub(r"\\\1", word) for word in argv) for argv in script.commands
        ]
        listed = ", \\\n    ".join(commands)
        blocks.append(
            f"# {host}: sudo visudo -f /etc/sudoers.d/distributed_config\n"
            f"{user} ALL = (root) NOPASSWD: \\\n    {listed}\n"
        )
    return "\n".join(blocks)
