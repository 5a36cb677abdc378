"""Who runs what, where, with which environment: `LaunchPlan`, from options and a hostfile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from distconfig.errors import UsageError
from distconfig.hosts.names import check_host_name, is_this_machine
from distconfig.launch.backends import Backend, plan_jaccl, plan_nccl, plan_ring
from distconfig.launch.options import Options
from ring_runtime.hostfile import Endpoint, Hostfile, HostfileEntry

__all__ = [
    "Command",
    "HostPart",
    "LaunchPlan",
    "RankPlan",
    "find_backend",
    "list_entries",
    "parse_command",
    "plan_launch",
]


@dataclass(frozen=True)
class Command:
    """The program of every rank.

    Args:
        kind: ``script`` (words for Python, the first a file), ``python`` (other
            words for Python, such as ``-m`` and a module), or ``program``.
    """

    kind: str
    words: tuple[str, ...]

    def argv(self, python: str, first: str) -> tuple[str, ...]:
        """The words to run on a host.

        Args:
            python: The interpreter to use there.
            first: The first word as the host understands it.
        """
        words = (first, *self.words[1:])
        return words if self.kind == "program" else (python, *words)


@dataclass(frozen=True)
class RankPlan:
    """One rank.

    Args:
        host: Its ssh target, or a word that means this machine.
        env: Variables to set, each name once.
        listens: Where it will listen.
        dials: Where its right neighbour, on another host, will listen.
        python: Interpreter asked for; None to find one on the host.
        cwd: Folder asked for; None for the launcher's own where it exists.
    """

    rank: int
    host: str
    env: tuple[tuple[str, str], ...] = ()
    listens: tuple[Endpoint, ...] = ()
    dials: tuple[Endpoint, ...] = ()
    python: str | None = None
    cwd: str | None = None


@dataclass(frozen=True)
class HostPart:
    """The ranks that one agent runs: those of one host with the same Python and folder."""

    host: str
    python: str | None
    cwd: str | None
    ranks: tuple[RankPlan, ...]


@dataclass(frozen=True)
class LaunchPlan:
    """A whole job; nothing in it is a shell string and nothing is secret.

    Args:
        files: Name and text of each file that every host gets for the job.
        file_env: Variables that hold the path of such a file, and its name.
        default_env: Variables to set unless the host has them set already.
    """

    backend: str
    command: Command
    ranks: tuple[RankPlan, ...]
    files: tuple[tuple[str, str], ...] = ()
    file_env: tuple[tuple[str, str], ...] = ()
    default_env: tuple[tuple[str, str], ...] = ()

    @property
    def parts(self) -> tuple[HostPart, ...]:
        """The job divided among agents, in order of their first ranks."""
        shares: dict[tuple[str, str | None, str | None], list[RankPlan]] = {}
        for rank in self.ranks:
            shares.setdefault((rank.host, rank.python, rank.cwd), []).append(rank)
        return tuple(HostPart(*key, tuple(ranks)) for key, ranks in shares.items())

    @property
    def is_local(self) -> bool:
        """No rank needs ssh."""
        return all(is_this_machine(rank.host) for rank in self.ranks)


def parse_command(words: tuple[str, ...], *, is_for_python: bool = False) -> Command:
    """What a command line asks to run.

    Args:
        is_for_python: The words follow an interpreter that was named, whatever they are.

    Example:
        >>> parse_command(("train.py", "-x")).kind, parse_command(("-m", "pkg")).kind
        ('script', 'python')
    """
    if words[0].endswith(".py"):
        return Command("script", words)
    if words[0] == "-m" or is_for_python:
        return Command("python", words)
    return Command("program", words)


def _addresses_of(host: str) -> tuple[str, ...]:
    """The address in a name that is one; this machine has one too."""
    if is_this_machine(host):
        return ("127.0.0.1",) if host == "localhost" else (host,)
    from ipaddress import ip_address  # which a local job has no use for

    try:
        ip_address(host)
    except ValueError:
        return ()
    return (host,)


def list_entries(options: Options, hostfile: Hostfile | None) -> Hostfile:
    """The ranks to run: those of the hostfile, of ``--hosts``, or of this machine.

    With nccl the hostfile lists every rank, as in ``mlx.launch``; with other
    backends each of its hosts is repeated as asked.

    Raises:
        UsageError: A host name is not one.
    """
    if hostfile is None:
        names = "127.0.0.1" if options.hosts is None else options.hosts
        hosts = [check_host_name(name.strip()) for name in names.split(",")]
        # Ranks that are all on one host have no need of an address that others can reach.
        default = ("127.0.0.1",) if len(set(hosts)) == 1 else ()
        entries = (HostfileEntry(host, _addresses_of(host) or default) for host in hosts)
        hostfile = Hostfile(tuple(entries))
    elif find_backend(options, hostfile) == "nccl":
        return hostfile
    repeated = tuple(entry for entry in hostfile.hosts for _ in range(options.repeat))
    return replace(hostfile, hosts=repeated)


def find_backend(options: Options, hostfile: Hostfile) -> str:
    """The backend: as asked, else the hostfile's, else ring.

    Example:
        >>> find_backend(Options(), Hostfile((HostfileEntry("a"),), backend="any"))
        'ring'
    """
    stored = "" if hostfile.backend == "any" else hostfile.backend
    return options.backend or stored or "ring"


def plan_launch(
    options: Options,
    hostfile: Hostfile,
    *,
    starting_port: int,
    terminal_size: tuple[int, int] | None = None,
) -> LaunchPlan:
    """The job that these options ask for on these hosts.

    Args:
        hostfile: One entry per rank, from `list_entries`.
        starting_port: First TCP port of a ring, or that of jaccl's coordinator.
        terminal_size: Columns and lines, where there is a terminal.

    Raises:
        UsageError: The hostfile does not hold what the backend needs.
        HostfileError: There are not enough TCP ports.
    """
    name = find_backend(options, hostfile)
    entries = hostfile.hosts
    if name == "ring":
        backend = plan_ring(
            entries, starting_port, options.connections_per_ip, is_verbose=options.verbose
        )
    elif name == "nccl":
        backend = plan_nccl(entries, options.nccl_port, options.repeat, is_verbose=options.verbose)
    elif name == "mpi":
        backend = Backend()
    else:
        backend = plan_jaccl(entries, starting_port, is_ring=name == "jaccl-ring")
    _refuse_lonely_loopback(entries, backend)
    ranks = tuple(
        _plan_rank(rank, entry, options, hostfile, backend) for rank, entry in enumerate(entries)
    )
    default_env = {"PYTHONUNBUFFERED": "1"}
    if terminal_size is not None:
        default_env.update(COLUMNS=str(terminal_size[0]), LINES=str(terminal_size[1]))
    return LaunchPlan(
        backend=name,
        command=parse_command(options.command, is_for_python=options.python is not None),
        ranks=ranks,
        files=backend.files,
        file_env=backend.file_env,
        default_env=tuple(default_env.items()),
    )


def _plan_rank(
    rank: int, entry: HostfileEntry, options: Options, hostfile: Hostfile, backend: Backend
) -> RankPlan:
    settings = (*hostfile.envs, *entry.env, *options.env)
    env: dict[str, Any] = dict(setting.split("=", 1) for setting in settings)
    env.update(backend.env)
    if backend.env_of_rank:
        env.update(backend.env_of_rank[rank])
    if find_backend(options, hostfile) != "mpi":  # mpirun tells its ranks who they are
        env.update(MLX_RANK=str(rank), MLX_WORLD_SIZE=str(len(hostfile.hosts)))
    right = (rank + 1) % len(hostfile.hosts)
    is_elsewhere = hostfile.hosts[right].ssh != entry.ssh
    return RankPlan(
        rank=rank,
        host=entry.ssh,
        env=tuple(env.items()),
        listens=backend.listens[rank] if backend.listens else (),
        dials=backend.listens[right] if backend.listens and is_elsewhere else (),
        python=options.python or entry.python,
        cwd=options.cwd or entry.cwd,
    )


def _refuse_lonely_loopback(entries: Sequence[HostfileEntry], backend: Backend) -> None:
    """An address that only this machine has is no place to meet ranks on others."""
    if all(is_this_machine(entry.ssh) for entry in entries):
        return
    for rank, endpoints in enumerate(backend.listens):
        for endpoint in endpoints if is_this_machine(entries[rank].ssh) else ():
            if endpoint.host == "::1" or endpoint.host.startswith("127."):
                raise UsageError(
                    f"rank {rank} would listen on {endpoint.host}, which no other host can reach",
                    hint="List this machine by its own address or host name.",
                )
