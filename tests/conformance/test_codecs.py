"""The generated codecs read and write what Aeron's own classes wrote."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from aerowire.codecs.flyweights import cnc, commands, events, files, logbuffer, recording_log, transport
from aerowire.conformance.codecs import wireshark
from aerowire.conformance.codecs.messages import SCHEMAS
from aerowire.conformance.codecs.targets import MESSAGES, STRUCTS, TARGETS, check, check_all, load_vectors
from aerowire.conformance.codecs.vectors import Vector
from aerowire.conformance.main import main
from tests.support.captures.tshark import needs_tshark


def structs_of(module: ModuleType) -> set[str]:
    return {name.removesuffix("Decoder") for name in vars(module) if name.endswith("Decoder")}


MODULES = (transport, commands, cnc, logbuffer, recording_log, events, files)
# Keys of the counters of archive and cluster.
OF_NODES = {"RecordingPositionKey", "RecoveryStateKey", "SnapshotRecordingId"}
OF_NODES |= {"ArchiveCounterKey", "ControlSessionKey", "ClusterCounterKey", "ClusterServiceCounterKey", "ClusterSessionKey"}
# What no class of io.aeron:aeron-all writes, or none that can be called alone.
WITHOUT = {
    "BootstrapNeighborKey": "a private method of the driver's resolver",
    "NameEntryKey": "the counters of the C driver's table of names",
    **dict.fromkeys(OF_NODES, "made with a driver only: tests/codegen/tables/test_official_counters.py has those of live nodes"),
    "RecordingLogEntry": "what the other three entries have in common",
    **dict.fromkeys(structs_of(events), "the logging agent, which is a jar of its own"),
    **dict.fromkeys(structs_of(files), "Aeron's samples, which are a jar of their own"),
}
# Newer than the release that wrote the vectors.
NEWER: dict[str, set[str]] = {}
LEAST = 3


@pytest.mark.parametrize("target", TARGETS)
def test_target_reads_and_writes_every_vector(target: str) -> None:
    if target == "wireshark" and not wireshark.is_available():
        pytest.skip("tshark is not installed (apt-get install tshark)")
    vectors = load_vectors()
    verdicts = dict(zip(((vector.file, vector.line, vector.struct) for vector in vectors), check_all(vectors, target), strict=True))
    assert any(verdict is not None for verdict in verdicts.values())
    assert {place: verdict for place, verdict in verdicts.items() if verdict} == {}
    # Messages have everything that is generated.
    assert not [place for place, verdict in verdicts.items() if verdict is None and "." in place[2]]


def test_every_struct_has_vectors_where_an_official_class_writes_it() -> None:
    counts = Counter(vector.struct for vector in load_vectors())
    assert {name for module in MODULES for name in structs_of(module) if counts[name] < LEAST} == set(WITHOUT)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_message_of_archive_and_cluster_has_vectors(schema: str) -> None:
    messages = importlib.import_module(f"aerowire.codecs.dtypes.{schema}").MESSAGES
    counts = Counter(vector.struct for vector in load_vectors())
    without = {name for name in messages if counts[f"{schema}.{name}"] < LEAST}
    assert without == NEWER.get(schema, set())


def with_byte(vector: Vector, offset: int) -> Vector:
    """The vector with one bit of a byte flipped."""
    wrong = bytearray(vector.data)
    wrong[offset] ^= 1
    return replace(vector, data=bytes(wrong))


@pytest.mark.parametrize("target", [*STRUCTS, pytest.param("wireshark", marks=needs_tshark)])
def test_a_wrong_byte_is_found(target: str) -> None:
    (vector, *_) = (one for one in load_vectors() if one.struct == "Nak" and one.values["term_id"] > 0)
    wrong = with_byte(vector, 16)
    found = int.from_bytes(wrong.data[16:20], "little")
    problem = check(wrong, target)
    if target == "wireshark":
        assert problem == f"aerowire.nak.term_id: expected ['{vector.values['term_id']}'], shown ['{found}']"
    else:
        assert problem == f"term_id: expected {vector.values['term_id']}, read {found}"


@pytest.mark.parametrize("target", [*MESSAGES, pytest.param("wireshark", marks=needs_tshark)])
@pytest.mark.parametrize(
    ("message", "offset", "member"), [("archive.Challenge", 16, "correlation"), ("cluster.SessionEvent", -1, "detail")]
)
def test_a_wrong_byte_of_a_message_is_found(target: str, message: str, offset: int, member: str) -> None:
    vector = next(one for one in load_vectors() if one.struct == message)
    problem = check(with_byte(vector, offset), target)
    assert problem
    assert member in problem.lower()


@pytest.mark.parametrize("target", STRUCTS)
def test_a_wrong_byte_outside_the_values_is_found(target: str) -> None:
    (vector, *_) = (one for one in load_vectors() if one.struct == "Nak" and one.values["flags"] == 0xFF)
    values = {name: value for name, value in vector.values.items() if name != "flags"}
    verdict = check(replace(vector, values=values), target)
    assert verdict == ("" if target == "dtypes" else "byte 5: expected 0xff, wrote 0x00")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no vectors"),
        ("Nak\t{}", "line 1: expected struct, values and bytes"),
        ("Nak\t[]\t00", "line 1: expected a JSON object"),
        ("Nack\t{}\t00", "line 1: no generated struct is called 'Nack'"),
        ('Nak\t{"length": {}}\t00', "line 1: 'hex'"),
        ("# made by hand\nNak\t{}\t0", "line 2: non-hexadecimal|line 2: fromhex"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "vectors.tsv"
    path.write_text(text)
    with pytest.raises(ValueError, match=complaint):
        load_vectors(path)


def test_command_prints_a_row_for_every_struct(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["codecs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["struct", *TARGETS]
    notes = [line for line in lines if line.startswith("wireshark:")]
    assert bool(notes) is not wireshark.is_available()
    rows = {row.split()[0]: row.split()[1:] for row in lines[1:-1] if row not in notes}
    seen = "pass" if wireshark.is_available() else "-"
    assert rows["Nak"] == ["pass", "-", "pass", "-", "pass", seen]
    assert rows["AddCounter"] == ["pass", "-", "pass", "-", "-", "-"]
    assert rows["archive.Challenge"] == ["pass"] * 5 + [seen]
    assert set(rows) == {vector.struct for vector in load_vectors()}
    assert lines[-1] == f"{len(load_vectors())} vectors, 0 failures"


def test_command_names_the_field_of_a_wrong_vector(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.tsv"
    path.write_text('# wrong on purpose\nOperationSuccess\t{"correlation_id": 7}\t0800000000000000\n')
    assert main(["codecs", "--vectors", str(path)]) == 1
    out = capsys.readouterr().out
    assert "OperationSuccess  FAIL        -           FAIL        -           -           -\n" in out
    assert "line 2, OperationSuccess, flyweights: correlation_id: expected 7, read 8\n" in out
    assert main(["codecs", "--vectors", str(path), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [(one["target"], one["line"]) for one in document["failures"]] == [("flyweights", 2), ("dtypes", 2)]
    assert document["checked"] == {"OperationSuccess": dict.fromkeys(TARGETS, 0) | {"flyweights": 1, "dtypes": 1}}


@pytest.mark.parametrize("text", [None, "nonsense"])
def test_command_refuses_what_it_cannot_read(tmp_path: Path, text: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "vectors.tsv"
    if text is not None:
        path.write_text(text)
    assert main(["codecs", "--vectors", str(path)]) == 2
    assert "vectors.tsv" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("values", "data"),
    [('{"correlation_id": 7}', "07"), ('{"correlation_id": 9223372036854775808}', "0" * 16), ('{"correlation_id": "a"}', "0" * 16)],
)
def test_command_counts_a_vector_that_no_codec_takes(tmp_path: Path, values: str, data: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "short.tsv"
    path.write_text(f"OperationSuccess\t{values}\t{data}\n")
    assert main(["codecs", "--vectors", str(path)]) == 1
    assert "OperationSuccess  FAIL        -           FAIL        -           -           -\n" in capsys.readouterr().out
