"""Recordings on disk: what is written, what comes back, and what is refused."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distconfig.errors import (
    AuthenticationFailed,
    CommandFailed,
    ProbeError,
    Unreachable,
    UsageError,
)
from distconfig.hosts.shell import Completed
from distconfig.recordings.recording import (
    HostRecording,
    OperatorNetwork,
    Recording,
    load_recording,
    save_recording,
    select_hosts,
)

WHEN = datetime(2026, 9, 30, 12, 34, 56, tzinfo=timezone.utc)
UNAME = Completed(("/usr/bin/uname", "-srm"), 0, b"Darwin 27.0.0 arm64\n", b"", 0.004)
BINARY = Completed(("/bin/odd", "a b", ""), 127, bytes(range(256)), b"\r\nnot found", 1.25)
OPERATOR = OperatorNetwork(
    (IPv4Interface("192.168.1.7/24"), IPv4Interface("10.231.0.1/30")),
    (IPv4Network("0.0.0.0/0"), IPv4Network("192.168.1.0/24")),
)
REFUSED = Unreachable("port 22 refused", host="ada@studio2", hint="Start it.")
RECORDING = Recording(
    WHEN,
    OPERATOR,
    (
        HostRecording("studio1", {"uname": UNAME, "odd": BINARY}),
        HostRecording("ada@studio2", {}, REFUSED),
        HostRecording("fe80::1%en0", {"uname": UNAME}, CommandFailed("it hangs", argv=("a", "b"))),
    ),
)


def same(one: ProbeError | None, other: ProbeError | None) -> bool:
    """Errors have no equality of their own; class and fields are all they are."""
    if one is None or other is None:
        return one is other
    return type(one) is type(other) and one.fields == other.fields


def assert_same(one: Recording, other: Recording) -> None:
    assert (one.recorded_at, one.operator) == (other.recorded_at, other.operator)
    assert [each.host for each in one.hosts] == [each.host for each in other.hosts]
    for mine, theirs in zip(one.hosts, other.hosts, strict=True):
        assert list(mine.probes.items()) == list(theirs.probes.items())
        assert same(mine.error, theirs.error)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder with the recording."""
    folder = tmp_path / "saved"
    save_recording(RECORDING, folder)
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_the_files_of_a_recording(saved: Path) -> None:
    files = tree(saved)
    assert set(files) == {
        "recording.json",
        "01-studio1/probes.json",
        "01-studio1/uname.out",
        "01-studio1/odd.out",
        "01-studio1/odd.err",
        "02-ada_studio2/probes.json",
        "03-fe80__1_en0/probes.json",
        "03-fe80__1_en0/uname.out",
    }
    assert files["01-studio1/odd.out"] == bytes(range(256))
    assert json.loads(files["01-studio1/probes.json"]) == {
        "uname": {"argv": ["/usr/bin/uname", "-srm"], "returncode": 0, "seconds": 0.004},
        "odd": {"argv": ["/bin/odd", "a b", ""], "returncode": 127, "seconds": 1.25},
    }
    index = json.loads(files["recording.json"])
    assert index.pop("tool").startswith("distributed-config ")
    assert index == {
        "format": 1,
        "recorded_at": "2026-09-30T12:34:56+00:00",
        "operator": {
            "addresses": ["192.168.1.7/24", "10.231.0.1/30"],
            "routes": ["0.0.0.0/0", "192.168.1.0/24"],
        },
        "hosts": [
            {"host": "studio1", "folder": "01-studio1", "error": None},
            {
                "host": "ada@studio2",
                "folder": "02-ada_studio2",
                "error": {
                    "class": "Unreachable",
                    "fields": {
                        "what": "port 22 refused",
                        "hint": "Start it.",
                        "host": "ada@studio2",
                    },
                },
            },
            {
                "host": "fe80::1%en0",
                "folder": "03-fe80__1_en0",
                "error": {
                    "class": "CommandFailed",
                    "fields": {
                        "what": "it hangs",
                        "hint": "",
                        "host": "",
                        "argv": ["a", "b"],
                        "returncode": None,
                        "stderr_tail": "",
                    },
                },
            },
        ],
    }


def test_what_was_saved_comes_back(saved: Path) -> None:
    assert_same(load_recording(saved), RECORDING)


ERRORS = st.one_of(
    st.builds(Unreachable, st.text(), hint=st.text(), host=st.text()),
    st.builds(AuthenticationFailed, st.text(), hint=st.text(), host=st.text()),
    st.builds(
        CommandFailed,
        st.text(),
        argv=st.lists(st.text(), max_size=3).map(tuple),
        returncode=st.none() | st.integers(-300, 300),
        stderr_tail=st.text(),
    ),
)
COMPLETED = st.builds(
    Completed,
    st.lists(st.text(), min_size=1, max_size=3).map(tuple),
    st.integers(-255, 255),
    st.binary(max_size=50),
    st.binary(max_size=50),
    st.floats(0, 1e6),
)
HOSTS = st.lists(
    st.builds(
        HostRecording,
        st.from_regex(r"[A-Za-z0-9_.:%@\[\]][A-Za-z0-9_.:%@\[\]-]{0,12}", fullmatch=True),
        st.dictionaries(st.from_regex(r"[a-z0-9_]{1,12}", fullmatch=True), COMPLETED, max_size=3),
        st.none() | ERRORS,
    ),
    max_size=4,
    unique_by=lambda each: each.host,
)


@given(hosts=HOSTS, hours=st.integers(-14, 14))
def test_any_recording_comes_back(
    tmp_path_factory: pytest.TempPathFactory, hosts: list[HostRecording], hours: int
) -> None:
    zone = timezone(timedelta(hours=hours))
    recording = Recording(datetime(2026, 1, 2, 3, 4, 5, 678, zone), OPERATOR, tuple(hosts))
    folder = tmp_path_factory.mktemp("any") / "recording"
    save_recording(recording, folder)
    assert_same(load_recording(folder), recording)
    shutil.rmtree(folder.parent)


def test_selecting_orders_and_refuses() -> None:
    chosen = select_hosts(RECORDING, ["fe80::1%en0", "studio1"])
    assert [each.host for each in chosen.hosts] == ["fe80::1%en0", "studio1"]
    assert (chosen.recorded_at, chosen.operator) == (WHEN, OPERATOR)
    with pytest.raises(UsageError) as caught:
        select_hosts(RECORDING, ["studio1", "studio9"])
    assert str(caught.value) == (
        "host 'studio9' is not in the recording -- It holds studio1, ada@studio2, fe80::1%en0."
    )


def test_a_recording_replaces_a_recording(saved: Path) -> None:
    save_recording(select_hosts(RECORDING, ["studio1"]), saved)
    assert {path.split("/")[0] for path in tree(saved)} == {"recording.json", "01-studio1"}
    assert list(saved.parent.iterdir()) == [saved]


def test_an_empty_folder_and_missing_parents_are_fine(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "a" / "b"):
        save_recording(RECORDING, folder)
        assert_same(load_recording(folder), RECORDING)


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("forty pages")
    with pytest.raises(UsageError) as caught:
        save_recording(RECORDING, tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} holds something that is not a recording -- Name an empty or new folder."
    )
    assert tree(tmp_path) == {"thesis.txt": b"forty pages"}


def test_a_file_in_the_way_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "taken"
    file.write_text("x")
    for folder in (file, file / "below"):
        with pytest.raises(UsageError):
            save_recording(RECORDING, folder)
    assert tree(tmp_path) == {"taken": b"x"}


def test_a_recording_that_can_not_be_written_leaves_the_old_one(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(saved)

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UsageError) as caught:
        save_recording(RECORDING, saved)
    assert caught.value.what == (
        f"the recording can not be written to {saved}: No space left on device"
    )
    assert tree(saved) == before
    assert list(saved.parent.iterdir()) == [saved]


def spoil_index(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        index = json.loads((folder / "recording.json").read_text())
        change(index)
        (folder / "recording.json").write_text(json.dumps(index))

    return spoil


def spoil_probes(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        path = folder / "01-studio1" / "probes.json"
        probes = json.loads(path.read_text())
        change(probes)
        path.write_text(json.dumps(probes))

    return spoil


def empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def link_out(folder: Path) -> None:
    (folder / "01-studio1" / "uname.out").unlink()
    (folder / "01-studio1" / "uname.out").symlink_to("/etc/passwd")


DAMAGED = "The recording is damaged; make it again with --save."
HALF = "The recording is half written; make it again with --save."


@pytest.mark.parametrize(
    ("spoil", "what", "hint"),
    [
        (shutil.rmtree, "there is no folder {}", "Name a folder that was made with --save."),
        (empty, "{}/recording.json is missing", HALF),
        (lambda f: shutil.rmtree(f / "01-studio1"), "{}/01-studio1/probes.json is missing", HALF),
        (
            lambda f: (f / "01-studio1/probes.json").unlink(),
            "{}/01-studio1/probes.json is missing",
            HALF,
        ),
        (
            lambda f: (f / "recording.json").write_bytes(b"\xff\xfe{"),
            "{}/recording.json is not JSON: Expecting value: line 1 column 1 (char 0)",
            "The recording is damaged or half written; make it again with --save.",
        ),
        (
            lambda f: (f / "recording.json").write_text('{"format": 1, "hos'),
            "{}/recording.json is not JSON: Unterminated string starting at:"
            " line 1 column 15 (char 14)",
            "The recording is damaged or half written; make it again with --save.",
        ),
        (
            lambda f: (f / "recording.json").write_text("[" * 100_000),
            None,
            "The recording is damaged or half written; make it again with --save.",
        ),
        (
            lambda f: (f / "recording.json").write_text("[]"),
            "{}/recording.json: the whole file is [], expected an object with 'format'",
            DAMAGED,
        ),
        (
            spoil_index(lambda i: i.update(format=2)),
            "{}/recording.json has format 2, this version reads up to 1",
            "Update the tool.",
        ),
        (
            spoil_index(lambda i: i.update(format="1")),
            '{}/recording.json: format is "1", expected a whole number',
            DAMAGED,
        ),
        (
            spoil_index(lambda i: i.update(format=True)),
            "{}/recording.json: format is true, expected a whole number",
            DAMAGED,
        ),
        (
            spoil_index(lambda i: i.update(format=0)),
            "{}/recording.json: format is 0, expected a format number",
            DAMAGED,
        ),
        (
            spoil_index(lambda i: i["hosts"][0].update(folder="../x")),
            '{}/recording.json: hosts[0].folder is "../x", expected a folder beside this file,'
            " such as '01-studio1'",
            DAMAGED,
        ),
        (
            spoil_index(lambda i: i["hosts"][0].update(folder="01-a/../../x")),
            '{}/recording.json: hosts[0].folder is "01-a/../../x", expected a folder beside this'
            " file, such as '01-studio1'",
            DAMAGED,
        ),
        (
            spoil_index(lambda i: i["hosts"][1].update(host="-oProxyCommand=x")),
            '{}/recording.json: hosts[1].host is "-oProxyCommand=x", expected a host name',
            DAMAGED,
        ),
        (
            spoil_index(lambda i: i["hosts"][1].update(host="studio1")),
            None,
            DAMAGED,
        ),
        (
            spoil_index(lambda i: i["hosts"][1].update(error="refused")),
            "{}/recording.json: hosts[1].error is \"refused\", expected an object with 'class'",
            DAMAGED,
        ),
        (
            spoil_index(lambda i: i["hosts"][1]["error"].update({"class": "SystemExit"})),
            '{}/recording.json: hosts[1].error.class is "SystemExit", expected one of'
            " Unreachable, AuthenticationFailed, CommandFailed",
            DAMAGED,
        ),
        (
            spoil_index(lambda i: i["hosts"][1]["error"]["fields"].update(exit_code=0)),
            None,
            DAMAGED,
        ),
        (
            spoil_index(lambda i: i["hosts"][1]["error"]["fields"].pop("what")),
            None,
            DAMAGED,
        ),
        (
            spoil_index(lambda i: i["hosts"][2]["error"]["fields"].update(argv="a b")),
            '{}/recording.json: hosts[2].error.fields.argv is "a b", expected a list',
            DAMAGED,
        ),
        (
            spoil_index(lambda i: i.update(recorded_at="yesterday")),
            '{}/recording.json: recorded_at is "yesterday", expected a time such as'
            " '2026-09-30T12:00:00+00:00'",
            DAMAGED,
        ),
        (
            spoil_index(lambda i: i["operator"]["routes"].append("10.0.0.300/24")),
            '{}/recording.json: operator.routes[2] is "10.0.0.300/24", expected an IPv4 address'
            " with its prefix",
            DAMAGED,
        ),
        (
            spoil_index(lambda i: i["operator"].update(addresses=[7])),
            "{}/recording.json: operator.addresses[0] is 7, expected text",
            DAMAGED,
        ),
        (
            spoil_probes(lambda p: p.update({"../../x": p["uname"]})),
            None,
            DAMAGED,
        ),
        (
            spoil_probes(lambda p: p["uname"].update(argv=[])),
            "{}/01-studio1/probes.json: uname.argv is [], expected at least one word",
            DAMAGED,
        ),
        (
            spoil_probes(lambda p: p["uname"].update(returncode=None)),
            "{}/01-studio1/probes.json: uname.returncode is null, expected a whole number",
            DAMAGED,
        ),
        (
            spoil_probes(lambda p: p["uname"].update(seconds=float("nan"))),
            "{}/01-studio1/probes.json: uname.seconds is NaN, expected a number of seconds",
            DAMAGED,
        ),
        (link_out, "{}/01-studio1/uname.out is a link out of the recording", None),
    ],
)
def test_a_recording_that_is_none_is_refused(
    saved: Path, spoil: Callable[[Path], object], what: str | None, hint: str | None
) -> None:
    spoil(saved)
    with pytest.raises(UsageError) as caught:
        load_recording(saved)
    if what is not None:
        assert caught.value.what == what.format(saved)
    if hint is not None:
        assert caught.value.hint == hint


def test_a_host_with_an_error_needs_no_folder(saved: Path) -> None:
    shutil.rmtree(saved / "02-ada_studio2")
    assert_same(load_recording(saved), RECORDING)


@given(data=st.data())
def test_a_damaged_byte_never_does_more_than_be_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("damaged") / "recording"
    save_recording(RECORDING, folder)
    name = data.draw(st.sampled_from(["recording.json", "01-studio1/probes.json"]))
    content = bytearray((folder / name).read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)) | st.just(len(content)))
    (folder / name).write_bytes(content[:cut])
    with contextlib.suppress(UsageError):
        assert all(each.host for each in load_recording(folder).hosts)
    shutil.rmtree(folder.parent)
