"""The hostfile and the address list: what is accepted, what is written, what is refused."""

import json
import re
from pathlib import Path

import pytest

from ring_runtime.errors import HostfileError
from ring_runtime.hostfile import (
    Endpoint,
    Hostfile,
    HostfileEntry,
    assign_endpoints,
    digest_address_list,
    load_address_list,
    load_hostfile,
    parse_address_list,
    parse_hostfile,
    render_address_list,
    render_hostfile,
    save_bytes,
)

PAIR = Hostfile(
    (HostfileEntry("studio1", ("10.231.0.1",)), HostfileEntry("ben@studio2", ("10.231.0.2",)))
)


def test_the_list_form_is_written_when_nothing_else_is_stored() -> None:
    assert render_hostfile(PAIR) == (
        "[\n"
        '  {"ssh": "studio1", "ips": ["10.231.0.1"]},\n'
        '  {"ssh": "ben@studio2", "ips": ["10.231.0.2"]}\n'
        "]\n"
    )


@pytest.mark.parametrize(
    ("hostfile", "expected"),
    [
        (
            Hostfile(PAIR.hosts, envs=("A=1",)),
            {
                "backend": "ring",
                "envs": ["A=1"],
                "hosts": [
                    {"ssh": "studio1", "ips": ["10.231.0.1"], "rdma": []},
                    {"ssh": "ben@studio2", "ips": ["10.231.0.2"], "rdma": []},
                ],
            },
        ),
        (
            Hostfile(
                (
                    HostfileEntry("a", ("192.0.2.1",), (None, ("rdma_en2", "rdma_en3"))),
                    HostfileEntry("b", ("192.0.2.2",), ("rdma_en4", None)),
                ),
                backend="jaccl",
            ),
            {
                "backend": "jaccl",
                "envs": [],
                "hosts": [
                    {"ssh": "a", "ips": ["192.0.2.1"], "rdma": [None, ["rdma_en2", "rdma_en3"]]},
                    {"ssh": "b", "ips": ["192.0.2.2"], "rdma": ["rdma_en4", None]},
                ],
            },
        ),
    ],
    ids=["env", "rdma"],
)
def test_the_object_form_always_has_its_three_keys(
    hostfile: Hostfile, expected: dict[str, object]
) -> None:
    assert json.loads(render_hostfile(hostfile)) == expected


@pytest.mark.parametrize(
    "hostfile",
    [
        PAIR,
        Hostfile(PAIR.hosts, "ring", ("MLX_METAL_FAST_SYNCH=1", "EMPTY=")),
        Hostfile((HostfileEntry("a", (), (None, "rdma_en2")), HostfileEntry("b")), "jaccl"),
    ],
    ids=["list", "object", "rdma"],
)
def test_what_is_written_reads_back_as_the_same_value(hostfile: Hostfile) -> None:
    assert parse_hostfile(render_hostfile(hostfile)) == hostfile


def test_our_reader_takes_python_cwd_and_env_for_each_host() -> None:
    text = '[{"ssh": "a", "python": "/opt/p/bin/python3", "cwd": "~/work", "env": ["X=1=2"]}]'
    assert parse_hostfile(text) == Hostfile(
        (HostfileEntry("a", python="/opt/p/bin/python3", cwd="~/work", env=("X=1=2",)),)
    )


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", "line 1 column 1", "not JSON"),
        ('[{"ssh": "a"}', "line 1 column 14", "not JSON"),
        ("7", "$", "expected a list, found int"),
        ("[]", "$", "no host is listed"),
        ('{"hosts": []}', "$.hosts", "no host is listed"),
        ('{"backend": "ring"}', "$", 'the key "hosts" is missing'),
        ('{"hosts": [{"ssh": "a"}], "comment": ""}', "$.comment", "unknown key 'comment'"),
        ('{"hosts": [{"ssh": "a"}], "backend": "rign"}', "$.backend", "unknown backend 'rign'"),
        ('{"hosts": [{"ssh": "a"}], "backend": []}', "$.backend", "unknown backend []"),
        ('{"hosts": [{"ssh": "a"}], "envs": {"A": "1"}}', "$.envs", "expected a list, found dict"),
        ('{"hosts": [{"ssh": "a"}], "envs": ["A"]}', "$.envs[0]", "'A' is not a \"K=V\" setting"),
        ('{"hosts": [{"ssh": "a"}], "envs": ["1A=2"]}', "$.envs[0]", "'1A=2' is not"),
        ('["a"]', "$[0]", "expected an object, found str"),
        ("[{}]", "$[0]", 'the key "ssh" is missing'),
        ('[{"ssh": ""}]', "$[0].ssh", "'' is not a host name"),
        ('[{"ssh": "-oProxyCommand=x"}]', "$[0].ssh", "'-oProxyCommand=x' is not a host name"),
        ('[{"ssh": "a; reboot"}]', "$[0].ssh", "'a; reboot' is not a host name"),
        ('[{"ssh": "a\\n"}]', "$[0].ssh", "is not a host name"),
        ('[{"ssh": 5}]', "$[0].ssh", "expected a host name, found int"),
        ('[{"ssh": "a"}, {"ssh": "b", "ips": "10.0.0.1"}]', "$[1].ips", "expected a list"),
        ('[{"ssh": "a", "ips": [1]}]', "$[0].ips[0]", "expected an address, found int"),
        ('[{"ssh": "a", "ips": ["x y"]}]', "$[0].ips[0]", "'x y' is not an address"),
        ('[{"ssh": "a", "rdma": [{}]}]', "$[0].rdma[0]", "expected an RDMA device, found dict"),
        ('[{"ssh": "a", "rdma": [null, null]}]', "$[0].rdma", "2 entries for 1 ranks"),
        ('[{"ssh": "a", "user": "ben"}]', "$[0].user", "unknown key 'user'"),
        ('[{"ssh": "a", "python": 3}]', "$[0].python", "expected a path, found int"),
        ('[{"ssh": "a", "cwd": ""}]', "$[0].cwd", "'' is not a path"),
        ('[{"ssh": "a", "env": ["=x"]}]', "$[0].env[0]", "'=x' is not"),
        ("[" * 100_000, "", "not usable JSON"),
        ("[" + "9" * 5000 + "]", "", "not usable JSON"),
    ],
)
def test_a_fault_is_named_by_its_json_path(text: str, where: str, what: str) -> None:
    with pytest.raises(HostfileError, match=re.escape(what)) as caught:
        parse_hostfile(text, path="cluster.json")
    place = f"cluster.json: {where}" if where else "cluster.json"
    assert (caught.value.where, caught.value.path) == (place, "cluster.json")
    assert isinstance(caught.value, ValueError)


def test_ports_count_over_ranks_then_ips_then_connections() -> None:
    assigned = assign_endpoints(
        [["10.0.0.1", "10.0.0.5"], ["10.0.0.2", "10.0.0.6"]],
        starting_port=6000,
        connections_per_ip=2,
    )
    assert assigned == (
        (
            Endpoint("10.0.0.1", 6000),
            Endpoint("10.0.0.1", 6001),
            Endpoint("10.0.0.5", 6002),
            Endpoint("10.0.0.5", 6003),
        ),
        (
            Endpoint("10.0.0.2", 6004),
            Endpoint("10.0.0.2", 6005),
            Endpoint("10.0.0.6", 6006),
            Endpoint("10.0.0.6", 6007),
        ),
    )


@pytest.mark.parametrize("starting_port", [0, -1, 65535, 70000])
def test_ports_beyond_the_last_one_are_refused(starting_port: int) -> None:
    with pytest.raises(HostfileError, match="65535 is the last"):
        assign_endpoints([["::1"], ["::1"]], starting_port=starting_port)


def test_the_last_port_can_be_used() -> None:
    assert assign_endpoints([["::1"]], starting_port=65535) == ((Endpoint("::1", 65535),),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ((),)),
        (" \n", ((),)),
        ('[["127.0.0.1:5000"]]', ((Endpoint("127.0.0.1", 5000),),)),
        ('[["::1:5000"], []]', ((Endpoint("::1", 5000),), ())),
        ('[["[fe80::1%en2]:5000"]]', ((Endpoint("fe80::1%en2", 5000),),)),
        (
            '[["localhost:1", "studio1.local:65535"]]',
            ((Endpoint("localhost", 1), Endpoint("studio1.local", 65535)),),
        ),
    ],
)
def test_address_lists_read(text: str, expected: object) -> None:
    assert parse_address_list(text) == expected


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("{}", "$"),
        ("[]", "$"),
        ('["127.0.0.1:5000"]', "$[0]"),
        ("[[5000]]", "$[0][0]"),
        ('[["127.0.0.1"]]', "$[0][0]"),
        ('[["127.0.0.1:0"]]', "$[0][0]"),
        ('[["127.0.0.1:65536"]]', "$[0][0]"),
        ('[["127.0.0.1:5000", ":5000"]]', "$[0][1]"),
        ('[["127.0.0.1:+5"]]', "$[0][0]"),
        ('[["127.0.0.1:５"]]', "$[0][0]"),
        ('[["a b:5"]]', "$[0][0]"),
    ],
)
def test_address_lists_refused(text: str, where: str) -> None:
    with pytest.raises(HostfileError) as caught:
        parse_address_list(text)
    assert caught.value.where == where


def test_ranks_that_spell_one_list_differently_have_one_digest() -> None:
    spellings = ['[["::1:5000"],["10.0.0.2:1"]]', '[ ["[::1]:5000"],\n ["10.0.0.2:1"] ]']
    digests = {digest_address_list(parse_address_list(text)) for text in spellings}
    assert len(digests) == 1
    assert (
        render_address_list(parse_address_list(spellings[1])) == '[["[::1]:5000"],["10.0.0.2:1"]]'
    )
    other = digest_address_list(parse_address_list('[["::1:5001"],["10.0.0.2:1"]]'))
    assert other not in digests


@pytest.mark.parametrize("content", [None, b"\xff\xfe[]"], ids=["missing", "not utf-8"])
@pytest.mark.parametrize("load", [load_hostfile, load_address_list])
def test_a_file_that_can_not_be_read_is_named(tmp_path: Path, content: bytes | None, load) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "hostfile.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(HostfileError, match="can not be read") as caught:
        load(path)
    assert caught.value.path == str(path)


def test_saving_replaces_the_old_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "hostfile.json"
    path.write_text("old")
    save_bytes(render_hostfile(PAIR).encode(), path)
    assert load_hostfile(path) == PAIR
    assert [each.name for each in tmp_path.iterdir()] == ["hostfile.json"]


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "hostfile.json"
    path.write_text("old")
    with pytest.raises(TypeError):
        save_bytes("not bytes", path)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        save_bytes(b"new", tmp_path / "missing" / "hostfile.json")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["hostfile.json"]
