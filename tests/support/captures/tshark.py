"""tshark with dissectors of ours: captures made of payloads, and what it prints of their fields."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

PORT = 40_123
ETHERNET = 14
REASON = "tshark is not installed (apt-get install tshark)"
needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason=REASON)


def capture(path: Path, payloads: Iterable[bytes], *, port: int = PORT, snap: int = 65_535) -> Path:
    """Write a capture with one UDP datagram per payload, from port 9 to `port`; frames are cut at `snap` bytes."""
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1)]
    for number, payload in enumerate(payloads):
        udp = struct.pack("!HHHH", 9, port, 8 + len(payload), 0) + payload
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), number & 0xFFFF, 0, 64, 17, 0, b"\x7f\0\0\1", b"\x7f\0\0\2")
        frame = bytes(12) + b"\x08\0" + ip + udp
        out += [struct.pack("<IIII", number, 0, len(frame[:snap]), len(frame)), frame[:snap]]
    path.write_bytes(b"".join(out))
    return path


def joined(path: Path, captures: Sequence[Path]) -> Path:
    """Write the records of classic little-endian captures of one link type into one file."""
    parts = [one.read_bytes() for one in captures]
    assert len({part[:4] + part[20:24] for part in parts}) == 1
    path.write_bytes(parts[0][:24] + b"".join(part[24:] for part in parts))
    return path


def _run(arguments: Sequence[str], path: Path, scripts: Sequence[Path], preferences: Mapping[str, str]) -> str:
    command = ["tshark", "-r", str(path), *(f"-Xlua_script:{script}" for script in scripts)]
    for name, value in preferences.items():
        command += ["-o", f"{name}:{value}"]
    # A configuration of the user's own must not matter; nor may names be looked up.
    environment = os.environ | {"HOME": str(path.parent), "XDG_CONFIG_HOME": str(path.parent), "LC_ALL": "C.UTF-8"}
    done = subprocess.run([*command, "-n", *arguments], env=environment, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    error = done.stderr.decode()
    assert done.returncode == 0, error
    text = done.stdout.decode(errors="replace")
    assert "Lua" not in error, error
    assert "Lua Error" not in text, text[text.index("Lua Error") :][:300]
    return text


def fields(
    path: Path, names: Sequence[str], scripts: Sequence[Path] = (), preferences: Mapping[str, str] = {}, more: Sequence[str] = ()
) -> list[dict[str, list[str]]]:
    """Return for each packet the values of fields in the order of the packet; one that is not there has none."""
    arguments = ["-Tfields", "-Eoccurrence=a", "-Eaggregator=\x1f", "-Eseparator=\x1e"]
    for name in names:
        arguments += ["-e", name]
    lines = _run([*arguments, *more], path, scripts, preferences).split("\n")[:-1]
    return [{name: value.split("\x1f") if value else [] for name, value in zip(names, line.split("\x1e"), strict=True)} for line in lines]


def details(path: Path, protocol: str, scripts: Sequence[Path], preferences: Mapping[str, str] = {}) -> str:
    """Return the tree of one protocol of every packet, as `tshark -V` shows it."""
    return _run(["-V", "-O", protocol], path, scripts, preferences)
