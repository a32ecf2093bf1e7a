"""What the fields of a capture's frames add up to, by this project's reader, by tshark's Aeron dissector, and by plain struct calls.

Keys are (kind, field): kinds are those of tshark, which tells heartbeats from data.  Integers are taken as unsigned, as tshark prints them.
"""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyarrow import csv

from aerowire.pcap import Capture
from tests.support.captures.corpus import Sums

Key = tuple[str, str]
COMMON = ("frame_length", "version", "flags", "type")
STREAM = ("session_id", "stream_id")
# Kind -> fields that tshark decodes rightly.  Not there: ERR (it knows another layout), RES and RSP_SETUP (it knows none), and what the
# reserved value of heartbeats and padding is.
TSHARK: dict[str, tuple[str, ...]] = {
    "data": (*COMMON, "term_offset", *STREAM, "term_id", "reserved_value"),
    "heartbeat": (*COMMON, "term_offset", *STREAM, "term_id"),
    "pad": (*COMMON, "term_offset", *STREAM, "term_id"),
    "nak": (*COMMON, *STREAM, "term_id", "term_offset", "length"),
    "sm": (*COMMON, *STREAM, "consumption_term_id", "consumption_term_offset", "receiver_window", "receiver_id", "group_tag"),
    "rtt": (*COMMON, *STREAM, "echo_timestamp_ns", "reception_delta_ns", "receiver_id"),
    "setup": (*COMMON, "term_offset", *STREAM, "initial_term_id", "active_term_id", "term_length", "mtu", "ttl"),
}
# What tshark calls a field; the tag of a status message is to it some bytes of the application.
NAMES = {"group_tag": "feedback", "echo_timestamp_ns": "echo_timestamp", "reception_delta_ns": "reception_delta"}
# Flags that tshark names, and their bits.  It names neither REVOKED, nor the EOS of status messages, nor those of SETUP.
BITS: dict[Key, int] = {
    ("data", "flags.b"): 0x80,
    ("data", "flags.e"): 0x40,
    ("data", "flags.s"): 0x20,  # the end of the stream
    ("heartbeat", "flags.b"): 0x80,
    ("heartbeat", "flags.e"): 0x40,
    ("sm", "flags.s"): 0x80,
    ("rtt", "flags.r"): 0x80,
}
KINDS = {"DATA": "data", "PAD": "pad", "NAK": "nak", "SM": "sm", "RTTM": "rtt", "SETUP": "setup"}
OTHERS = {
    "ERR": (*COMMON, *STREAM, "receiver_id", "group_tag", "error_code", "error_length"),
    "RES": COMMON,
    "RSP_SETUP": (*COMMON, *STREAM, "response_session_id"),
}
TYPE_CODES = {"PAD": 0, "DATA": 1, "NAK": 2, "SM": 3, "ERR": 4, "SETUP": 5, "RTTM": 6, "RES": 7, "RSP_SETUP": 11}
BYTES = {"version": 1, "flags": 1, "type": 2, "reserved_value": 8, "receiver_id": 8, "group_tag": 8}
BYTES |= {"echo_timestamp_ns": 8, "reception_delta_ns": 8}
HEARTBEAT_FLAGS = 0xC0  # with others, such as the end of the stream, tshark takes it for data of no length
TEXT = pa.string()


def ours(path: Path, ports: Iterable[int] | None) -> dict[Key, Sums]:
    """Return the sums of every field by this project's reader."""
    sums: dict[Key, Sums] = {}
    names = {name for fields in (*TSHARK.values(), *OTHERS.values()) for name in fields}
    for batch in Capture(path, ports=ports, columns=[*sorted(names), "packet_index"]).batches():
        _add(sums, batch)
    return sums


def _add(sums: dict[Key, Sums], batch: pa.RecordBatch) -> None:
    kinds = np.array(batch["type"].to_pylist())
    lengths, packets = batch["frame_length"].to_numpy(), batch["packet_index"].to_numpy()
    for kind in np.unique(kinds).tolist():
        rows = kinds == kind
        split = [(KINDS.get(kind, kind), rows)]
        if kind == "DATA":
            beat = (lengths == 0) & (batch["flags"].to_numpy() == HEARTBEAT_FLAGS)
            split = [("data", rows & ~beat), ("heartbeat", rows & beat)]
        for name, chosen in split:
            for field in TSHARK.get(name) or OTHERS[name]:
                if field == "type":
                    values = np.full(int(chosen.sum()), TYPE_CODES[kind], dtype=np.uint64)
                    sums.setdefault((name, field), Sums()).add(values, packets[chosen])
                    continue
                column = batch[field].filter(pa.array(chosen))
                there = column.is_valid().to_numpy(zero_copy_only=False)
                wide = column.drop_null().cast(pa.int64()).to_numpy().view(np.uint64)
                values = wide & np.uint64(2 ** (8 * BYTES.get(field, 4)) - 1)
                sums.setdefault((name, field), Sums()).add(values, packets[chosen][there])
                for (of, flag), bit in BITS.items():
                    if (of, "flags") == (name, field):
                        sums.setdefault((of, flag), Sums()).add((values & np.uint64(bit)) // np.uint64(bit), packets[chosen][there])


def tshark(path: Path, ports: Sequence[int], scratch: Path) -> dict[Key, Sums]:
    """Return the sums of the fields that tshark decodes rightly."""
    keys = [(kind, field) for kind, fields in TSHARK.items() for field in fields] + list(BITS)
    command = ["tshark", "-n", "-r", str(path), "-Tfields", "-Eoccurrence=a", "-Eaggregator=|", "-Eseparator=,", "-e", "frame.number"]
    for kind, field in keys:
        command += ["-e", f"aeron.{kind}.{NAMES.get(field, field)}"]
    for port in ports:
        command += ["-d", f"udp.port=={port},aeron"]
    home = {"HOME": str(scratch), "XDG_CONFIG_HOME": str(scratch), "LC_ALL": "C.UTF-8"}
    sums: dict[Key, Sums] = {}
    with subprocess.Popen(command, env=os.environ | home, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        names = ["packet", *(f"{kind}.{field}" for kind, field in keys)]
        reader = csv.open_csv(
            pa.PythonFile(process.stdout, mode="r"),
            read_options=csv.ReadOptions(column_names=names, block_size=8 << 20),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, TEXT)),
        )
        for batch in reader:
            packets = batch["packet"].cast(pa.int64()).to_numpy() - 1
            for key, column in zip(keys, batch.columns[1:], strict=True):
                values, rows = _numbers(column, is_bytes=key[1] == "group_tag")
                sums.setdefault(key, Sums()).add(values, packets[rows])
    assert process.returncode == 0, f"tshark failed on {path} with {process.returncode}"
    return {key: one for key, one in sums.items() if one.count}


def _numbers(column: pa.Array, *, is_bytes: bool) -> tuple[Any, Any]:
    """Return all the numbers of a column whose cells hold none, one or several, and the row of each."""
    rows = np.flatnonzero(pc.not_equal(column, "").to_numpy(zero_copy_only=False))
    lists = pc.split_pattern(column.take(pa.array(rows)), "|")
    texts, parents = lists.flatten(), rows[pc.list_parent_indices(lists).to_numpy()]
    if len(texts) and not is_bytes and not texts[0].as_py().startswith("0x"):
        return texts.cast(pa.uint64()).to_numpy(), parents
    encoded = texts.dictionary_encode()
    read = [int.from_bytes(bytes.fromhex(text), "little") if is_bytes else int(text, 0) for text in encoded.dictionary.to_pylist()]
    return np.array(read, dtype=np.uint64)[encoded.indices.to_numpy()] if read else np.empty(0, np.uint64), parents


def plainly(path: Path) -> dict[Key, Sums]:
    """Return the sums of what tshark does not know in a classic little-endian Ethernet capture of IPv4 and IPv6, by plain struct calls."""
    sums: dict[Key, Sums] = {}
    for number, payload in enumerate(_payloads(path.read_bytes())):
        kind = struct.unpack_from("<h", payload, 6)[0]
        if kind == TYPE_CODES["ERR"]:
            _note(sums, "ERR", number, struct.unpack_from("<IBBHIIQQII", payload))
        elif kind == TYPE_CODES["RES"]:
            _note(sums, "RES", number, struct.unpack_from("<IBBH", payload))
        elif kind == TYPE_CODES["RSP_SETUP"]:
            _note(sums, "RSP_SETUP", number, struct.unpack_from("<IBBHIII", payload))
    return sums


def _note(sums: dict[Key, Sums], kind: str, packet: int, values: Sequence[int]) -> None:
    for field, value in zip(OTHERS[kind], values, strict=True):
        sums.setdefault((kind, field), Sums()).add(np.array([value], dtype=np.uint64), np.array([packet]))


def _payloads(data: bytes) -> Iterator[bytes]:
    at = 24
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        packet = data[at + 16 : at + 16 + length]
        yield packet[14 + (28 if packet[14] >> 4 == 4 else 48) :]
        at += 16 + length
