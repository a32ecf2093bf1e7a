"""A fact changed in a copy of spec/ changes in every target, and nowhere by hand: an offset, a default, a label."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from aerowire.codegen.main import main
from aerowire.codegen.sources import default_spec

PROBE = """
import json, sys
import numpy as np
from aerowire.codecs.dtypes import transport as dtypes
from aerowire.codecs.flyweights import transport as flyweights
from aerowire.codecs.scapy import transport as layers
from aerowire.codecs.tables.counters import SYSTEM_COUNTER_LABELS, CounterType, SystemCounter, format_label, parse_label
from aerowire.codecs.tables.options import OPTIONS
data = flyweights.SetupEncoder.encode(mtu=1408, term_length=65536)
label = format_label(CounterType.PUB_LMT, registration_id=1, session_id=2, stream_id=3, channel="aeron:ipc")
print(json.dumps({
    "from": flyweights.__file__,
    "flyweights": data.hex(),
    "scapy": bytes(layers.Setup(mtu=1408, term_length=65536)).hex(),
    "numpy": int(np.frombuffer(data, dtypes.SETUP)[0]["mtu"]),
    "offsets": [flyweights.SetupDecoder.TERM_LENGTH_OFFSET, flyweights.SetupDecoder.MTU_OFFSET],
    "default": OPTIONS["mtu_length"].default,
    "system": SYSTEM_COUNTER_LABELS[SystemCounter.BYTES_SENT],
    "label": label,
    "parsed": parse_label(CounterType.PUB_LMT, label),
}))
"""
NATIVE = """
from aerowire.codecs.native.transport cimport SETUP_MTU_OFFSET, setup_mtu, setup_set_mtu, setup_term_length
from libc.stdint cimport uint8_t
def offset(): return SETUP_MTU_OFFSET
def read(bytearray data): return setup_mtu(<uint8_t*><char*>data), setup_term_length(<uint8_t*><char*>data)
def write(bytearray data, int value): setup_set_mtu(<uint8_t*><char*>data, value)
"""


def replace(path: Path, *pairs: tuple[str, str]) -> None:
    text = path.read_text()
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of spec/ in which two Setup fields have changed places, an option its default and two counters their labels."""
    copy = Path(shutil.copytree(default_spec(), tmp_path_factory.mktemp("edited") / "spec"))
    replace(
        copy / "transport.xml",
        ('name="term_length" type="int32" offset="28"', 'name="term_length" type="int32" offset="@"'),
        ('name="mtu" type="int32" offset="32"', 'name="mtu" type="int32" offset="28"'),
        ('name="term_length" type="int32" offset="@"', 'name="term_length" type="int32" offset="32"'),
    )
    replace(copy / "options.xml", ('kind="size" unit="bytes" default="1408" scope="driver">Most bytes of a datagram', (
        'kind="size" unit="bytes" default="2048" scope="driver">Most bytes of a datagram')))  # fmt: skip
    replace(copy / "counters.xml", ('label="Bytes sent"', 'label="Octets sent"'), ('label="pub-lmt: {', 'label="publisher-limit: {'))
    return copy


@pytest.fixture(scope="module")
def edited(spec: Path) -> Path:
    """Code from that copy."""
    out = spec.parent / "out"
    assert main(["generate", "--spec", str(spec), "--out", str(out)]) == 0
    return out


def test_python_targets_follow(edited: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        env=os.environ | {"PYTHONPATH": str(edited)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["from"].startswith(str(edited))
    # header, term offset, session, stream, initial and active term id; then mtu 1408 and term length 65536; then ttl
    assert found["flyweights"] == "2800000000000500" + "00000000" * 5 + "80050000" + "00000100" + "00000000"
    assert found["scapy"] == found["flyweights"]
    assert (found["numpy"], found["offsets"]) == (1408, [32, 28])
    assert (found["default"], found["system"]) == (2048, "Octets sent")
    assert found["label"] == "publisher-limit: 1 2 3 aeron:ipc"
    assert found["parsed"] == {"registration_id": 1, "session_id": 2, "stream_id": 3, "channel": "aeron:ipc"}


def test_native_accessors_follow(edited: Path, compile_cython: Callable[[str, str, Path], ModuleType]) -> None:
    module = compile_cython("edited_probe", NATIVE, edited)
    data = bytearray(40)
    module.write(data, 1408)
    assert module.offset() == 28
    assert data[28:32] == (1408).to_bytes(4, "little")
    assert module.read(data) == (1408, 0)


def test_check_of_the_copy_is_fresh_and_that_of_the_original_is_not(edited: Path, spec: Path) -> None:
    assert main(["check", "--spec", str(spec), "--out", str(edited)]) == 0
    assert main(["check", "--out", str(edited)]) == 1
