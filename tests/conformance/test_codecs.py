"""The generated codecs read and write what Aeron's own classes wrote."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from aerowire.codecs.flyweights import commands, transport
from aerowire.conformance.codecs import TARGETS, check, load_vectors
from aerowire.conformance.main import main

# Without vectors so far.
WITHOUT = {"Resolution"}
LEAST = 3


@pytest.mark.parametrize("target", TARGETS)
def test_target_reads_and_writes_every_vector(target: str) -> None:
    verdicts = {(vector.line, vector.struct): check(vector, target) for vector in load_vectors()}
    assert any(verdict is not None for verdict in verdicts.values())
    assert {place: verdict for place, verdict in verdicts.items() if verdict} == {}


def test_every_struct_of_frames_and_commands_has_vectors() -> None:
    structs = {name.removesuffix("Decoder") for module in (transport, commands) for name in vars(module) if name.endswith("Decoder")}
    counts = Counter(vector.struct for vector in load_vectors())
    assert {name for name in structs if counts[name] < LEAST} == WITHOUT


@pytest.mark.parametrize("target", TARGETS)
def test_a_wrong_byte_is_found(target: str) -> None:
    (vector, *_) = (one for one in load_vectors() if one.struct == "Nak" and one.values["term_id"] > 0)
    wrong = bytearray(vector.data)
    wrong[16] ^= 1
    found = int.from_bytes(wrong[16:20], "little")
    assert check(replace(vector, data=bytes(wrong)), target) == f"term_id: expected {vector.values['term_id']}, read {found}"


@pytest.mark.parametrize("target", TARGETS)
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
    rows = {row.split()[0]: row.split()[1:] for row in lines[1:-1]}
    assert rows["Nak"] == ["pass", "pass", "pass"]
    assert rows["AddCounter"] == ["pass", "pass", "-"]
    assert set(rows) == {vector.struct for vector in load_vectors()}
    assert lines[-1] == f"{len(load_vectors())} vectors, 0 failures"


def test_command_names_the_field_of_a_wrong_vector(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.tsv"
    path.write_text('# wrong on purpose\nOperationSuccess\t{"correlation_id": 7}\t0800000000000000\n')
    assert main(["codecs", "--vectors", str(path)]) == 1
    out = capsys.readouterr().out
    assert "OperationSuccess  FAIL        FAIL        -\n" in out
    assert "line 2, OperationSuccess, flyweights: correlation_id: expected 7, read 8\n" in out
    assert main(["codecs", "--vectors", str(path), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [(one["target"], one["line"]) for one in document["failures"]] == [("flyweights", 2), ("dtypes", 2)]
    assert document["checked"] == {"OperationSuccess": {"flyweights": 1, "dtypes": 1, "scapy": 0}}


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
    assert "OperationSuccess  FAIL        FAIL        -\n" in capsys.readouterr().out
