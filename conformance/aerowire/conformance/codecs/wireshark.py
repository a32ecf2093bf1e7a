"""The generated Wireshark dissectors: what tshark shows of the vectors' fields."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import as_file, files
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from aerowire.conformance.codecs.messages import SCHEMAS
from aerowire.conformance.codecs.vectors import Vector

# Entries of a frame have the filters of their own struct; those of a group have the group's.
ENTRIES = {"res.entries": "resolution_entry"}
ADDRESS = "aerowire.resolution_entry.address"  # shown as an IP address, with a filter for each version
PORT = 40_123
TIMEOUT_S = 120.0
# Frames that fill a datagram, and what their fields are filtered by.
FRAMES = {
    "DataHeader": "data",
    "Nak": "nak",
    "StatusMessage": "sm",
    "ErrorFrame": "err",
    "Setup": "setup",
    "Rttm": "rttm",
    "Resolution": "res",
    "ResponseSetup": "rsp_setup",
}
# Filters that say that a datagram could not be read; vectors have values that nobody sends, of which there is another.
DAMAGE = (".damaged_length", ".cut", ".undissected")
# A filter -> what tshark shows of it in one packet, in order.
Shown = Mapping[str, Sequence[str]]


def is_available() -> bool:
    """Say whether there is a tshark."""
    return shutil.which("tshark") is not None


def check_all(vectors: Sequence[Vector]) -> list[str | None]:
    """Return for each vector what is wrong with what tshark shows, "" for nothing, None for what has no dissector or without tshark."""
    found: list[str | None] = [None] * len(vectors)
    if not is_available():
        return found
    by_script: dict[str, list[int]] = defaultdict(list)
    for place, vector in enumerate(vectors):
        if script := script_of(vector):
            by_script[script].append(place)
    for script, places in by_script.items():
        shown = dissect(script, [vectors[place].data for place in places])
        for place, packet in zip(places, shown, strict=True):
            found[place] = next(problems(vectors[place], packet), "")
    return found


def script_of(vector: Vector) -> str:
    """Return the name of the dissector of a vector's bytes, "" where there is none."""
    schema, is_message, _ = vector.struct.partition(".")
    if is_message:
        return schema if schema in SCHEMAS else ""
    return "transport" if vector.struct in FRAMES and "frame_length" in vector.values else ""


def protocol_of(script: str) -> str:
    return "aerowire" if script == "transport" else f"aerowire_{script}"


def dissect(script: str, payloads: Sequence[bytes]) -> list[Shown]:
    """Return what tshark shows of each of some datagrams."""
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether
    from scapy.packet import Raw
    from scapy.utils import wrpcap

    protocol = protocol_of(script)
    ether = Ether(src="00:00:00:00:00:01", dst="00:00:00:00:00:02")
    link = ether / IP(src="127.0.0.1", dst="127.0.0.2") / UDP(sport=9, dport=PORT)
    with tempfile.TemporaryDirectory() as folder, as_file(files("aerowire.codecs.wireshark") / f"{script}.lua") as lua:
        path = Path(folder) / "vectors.pcap"
        wrpcap(str(path), [link / Raw(payload) for payload in payloads])
        command = ["tshark", "-n", "-r", str(path), f"-Xlua_script:{lua}", "-o", f"{protocol}.ports:{PORT}", "-T", "json"]
        # A configuration of the user's own must not matter.
        environment = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "LC_ALL": "C.UTF-8"}
        done = subprocess.run(command, env=environment, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S)
    if done.returncode or b"Lua" in done.stderr:
        raise ValueError(f"tshark: {done.stderr.decode(errors='replace').strip()[-300:]}")
    packets = json.loads(done.stdout.decode(errors="replace"), object_pairs_hook=Pairs)
    return [gathered(packet, protocol) for packet in packets]


class Pairs(list[tuple[str, Any]]):
    """An object of JSON whose names may come twice, as tshark writes them."""


def gathered(node: Any, protocol: str, found: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
    """Return the texts of a protocol's filters."""
    found = defaultdict(list) if found is None else found
    if isinstance(node, Pairs):
        for name, value in node:
            if isinstance(value, Pairs):
                gathered(value, protocol, found)
            elif name.startswith(f"{protocol}."):
                found[name] += value if isinstance(value, list) else [value]
    return found


def problems(vector: Vector, shown: Shown) -> Iterator[str]:
    """Say what of a vector is shown otherwise."""
    script = script_of(vector)
    protocol = protocol_of(script)
    for damage in DAMAGE:
        if f"{protocol}{damage}" in shown:
            yield f"{damage[1:]}: {shown[f'{protocol}{damage}']}"
    name = FRAMES.get(vector.struct) or vector.struct.partition(".")[2]
    for member, texts in expected(vector.values, f"{protocol}.{name}").items():
        found = [as_shown(text) for text in shown.get(member, ())]
        wanted = [text for text in texts if text is not None]
        # Null may be shown by its number or not at all.
        if len(wanted) == len(texts) and found != wanted:
            yield f"{member}: expected {wanted}, shown {found}"


def expected(values: Mapping[str, Any], prefix: str) -> dict[str, list[str | None]]:
    """Return the texts that the members should have, entries of a group one after the other; None is null."""
    found: dict[str, list[str | None]] = defaultdict(list)
    for name, value in values.items():
        if isinstance(value, list):
            protocol, _, member = f"{prefix}.{name}".partition(".")
            below = f"{protocol}.{ENTRIES.get(member, member)}"
            for entry in value:
                for member, texts in expected(entry, below).items():
                    found[member] += texts
        elif f"{prefix}.{name}" == ADDRESS:
            address = ip_address(value)
            found[f"{ADDRESS}.ipv{address.version}"].append(str(address))
        elif value not in ("", b""):
            found[f"{prefix}.{name}"].append(None if value is None else text_of(value))
    return found


def text_of(value: object) -> str:
    """Return a value as it is compared."""
    return value.hex() if isinstance(value, bytes) else str(value)


def as_shown(text: str) -> str:
    """Return a text of tshark as it is compared: bytes have no colons, hexadecimal numbers are decimal."""
    if text.startswith("0x"):
        return str(int(text, 16))
    pairs = text.split(":")
    is_bytes = all(len(pair) == 2 and all(digit in "0123456789abcdef" for digit in pair) for pair in pairs)
    return "".join(pairs) if is_bytes and len(pairs) > 1 else text
