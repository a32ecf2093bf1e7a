"""The generated codecs read and write what Aeron's own classes wrote."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from aerowire.codecs.flyweights import commands, transport
from aerowire.conformance.codecs import TARGETS, check, load_vectors

# Without vectors so far.
WITHOUT = {"PublicationErrorFrame", "Resolution"}
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
        ("# made by hand\nNak\t{}\t0", "line 2: non-hexadecimal|line 2: fromhex"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "vectors.tsv"
    path.write_text(text)
    with pytest.raises(ValueError, match=complaint):
        load_vectors(path)
