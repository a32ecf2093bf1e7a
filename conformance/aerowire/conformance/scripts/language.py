"""The language of scripts: what a line says, and what is wrong with it, where.

Pure text; knows no driver and no frame but the names of their fields.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from aerowire.codecs.flyweights.transport import (
    DataFlags,
    ErrorFlags,
    RttmFlags,
    SetupFlags,
    SmFlags,
)
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.options import OPTIONS
from aerowire.conformance.errors import ConformanceError

SCRIPT_MAX = 1 << 20
UNITS_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
TIME = re.compile(r"\+(\d+(?:\.\d+)?)(us|ms|s)")
# What UDP over IPv4 carries.
DATAGRAM_MAX = 65_507
# Other fields are as wide as their layers say.
LIMITS = {"datagram": (0, DATAGRAM_MAX), "flags": (0, 0xFF)}
NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)")
HEADINGS = ("requirement", "source", "expected", "since")
STEPS = {">": "send", "<": "expect", "!": "nothing", "=": "state", "@": "act"}
# Fields that a script may name, by kind of frame; `position` and `payload` stand for several, `datagram` is the length of all bytes.
COMMON = {"frame_length", "version", "type", "session_id", "stream_id", "datagram"}
FIELDS: dict[str, set[str]] = {
    "DATA": {"flags", "term_offset", "term_id", "reserved_value", "position", "payload"},
    "PAD": {"flags", "term_offset", "term_id", "reserved_value", "position"},
    "HEARTBEAT": {"flags", "term_offset", "term_id", "reserved_value", "position"},
    "SETUP": {"flags", "term_offset", "initial_term_id", "active_term_id", "term_length", "mtu", "ttl", "position"},
    "SM": {"flags", "consumption_term_id", "consumption_term_offset", "receiver_window", "receiver_id", "position"},
    "NAK": {"flags", "term_id", "term_offset", "length", "position"},
    "ERR": {"flags", "receiver_id", "group_tag", "error_code", "error_length", "error_text"},
    "RTTM": {"flags", "echo_timestamp_ns", "reception_delta_ns", "receiver_id"},
    "RSP_SETUP": {"flags", "response_session_id"},
}
FLAGS: dict[str, type[DataFlags | SmFlags | SetupFlags | RttmFlags | ErrorFlags]] = {
    "DATA": DataFlags,
    "PAD": DataFlags,
    "HEARTBEAT": DataFlags,
    "SM": SmFlags,
    "SETUP": SetupFlags,
    "RTTM": RttmFlags,
    "ERR": ErrorFlags,
}
TEXTS = {"payload", "error_text"}
STATES = ("image", "no-image", "connected", "not-connected", "delivered", "counter")
ACTIONS = ("offer", "close", "unsubscribe")

Value = int | bytes


class ScriptError(ConformanceError):
    """Something that a script may not say; the message begins with FILE:LINE:COLUMN."""


@dataclass(frozen=True, slots=True)
class FrameText:
    """A frame as a script writes it: its kind and the fields that it names. Kind RAW has `payload` alone."""

    kind: str
    fields: dict[str, Value]

    def __str__(self) -> str:
        told = (f"{name}={value!r}" if isinstance(value, bytes) else f"{name}={value}" for name, value in self.fields.items())
        return " ".join([self.kind, *told])


@dataclass(frozen=True, slots=True)
class Step:
    """One line: when, what, and of what. `within_ms` is a wait before sending and acting, a bound for everything else."""

    line: int
    what: str
    within_ms: float
    frames: tuple[FrameText, ...] = ()
    word: str = ""
    arguments: tuple[str, ...] = ()


@dataclass(slots=True)
class Script:
    """A whole script. `side` is "subscribe" or "publish": which of the client's ends the driver has."""

    path: Path
    headings: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    side: str = ""
    params: str = ""
    steps: list[Step] = field(default_factory=list)


def read_script(path: Path) -> Script:
    """Read a script. Raises ScriptError for what it may not say, OSError for a file that cannot be read."""
    data = path.read_bytes()
    if len(data) > SCRIPT_MAX:
        raise ScriptError(f"{path}:1:1: expected at most {SCRIPT_MAX} bytes, got {len(data)}")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScriptError(f"{path}:{line}:1: expected UTF-8, got byte 0x{data[error.start]:02x}") from None
    return parse_script(text, path)


def parse_script(text: str, path: Path) -> Script:
    """Return what the text of a script says."""
    script = Script(path)
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            _Line(script, number, line).read()
    if not script.side:
        raise ScriptError(f"{path}:1:1: expected a line `subscribe` or `publish`, which says what the driver has of the stream")
    if not script.steps:
        raise ScriptError(f"{path}:1:1: expected at least one step, such as `+5ms < SM flags=SEND_SETUP`")
    script.headings.setdefault("requirement", f"The conversation of {path.name} goes as it is written.")
    return script


class _Line:
    """One line of a script on its way into it."""

    def __init__(self, script: Script, number: int, text: str) -> None:
        self._script = script
        self._number = number
        self._text = text

    def read(self) -> None:
        """Take the line in."""
        text = self._text.strip()
        word, *others = text.split(maxsplit=1)
        rest = others[0] if others else ""
        if word in HEADINGS:
            self._script.headings[word] = rest
        elif word == "option":
            self._read_option(rest)
        elif word in ("subscribe", "publish"):
            if self._script.side:
                self._fail(word, "one stream in a script", f"a second `{word}`")
            self._script.side, self._script.params = word, "|".join(rest.split())
        else:
            self._read_step(text)

    def _read_option(self, text: str) -> None:
        name, separator, value = text.partition("=")
        if not separator or name.strip() not in OPTIONS:
            self._fail(text, "option NAME=VALUE with a name of the driver's options", f"`{text}`")
        self._script.options[name.strip()] = value.strip()

    def _read_step(self, text: str) -> None:
        when = TIME.match(text)
        within_ms = float(when[1]) * UNITS_MS[when[2]] if when else 0.0
        rest = text[when.end() :].lstrip() if when else text
        sign = rest[:1]
        if sign not in STEPS:
            wanted = "a step (+TIME and one of > < ! = @), or requirement, source, expected, since, option, subscribe, publish"
            self._fail(rest, wanted, f"`{rest}`")
        if when is None and sign in "<!=":
            self._fail(rest, f"a time before {sign}, such as +5ms", "none")
        body = rest[1:].strip()
        what = STEPS[sign]
        if sign in "><!":
            frames = tuple(map(self._frame, _parts(body))) if sign == ">" else (self._frame(body),)
            unfit = "ANY" if sign == ">" else "RAW"
            if any(frame.kind == unfit for frame in frames):
                self._fail(unfit, f"a frame that can be {'sent' if sign == '>' else 'told by its kind'}", f"`{unfit}`")
            self._add(what, within_ms, frames=frames)
            return
        words = self._words(body)
        known = STATES if sign == "=" else ACTIONS
        if not words or words[0] not in known:
            self._fail(body or rest, f"one of {', '.join(known)}", f"`{words[0] if words else ''}`")
        self._check_arguments(words, body)
        self._add(what, within_ms, word=words[0], arguments=tuple(words[1:]))

    def _add(
        self, what: str, within_ms: float, *, frames: tuple[FrameText, ...] = (), word: str = "", arguments: tuple[str, ...] = ()
    ) -> None:
        self._script.steps.append(Step(self._number, what, within_ms, frames, word, arguments))

    def _check_arguments(self, words: list[str], body: str) -> None:
        word, given = words[0], words[1:]
        if word == "counter":
            if len(given) != 2 or given[0] not in SystemCounter.__members__ or not re.fullmatch(r"\+\d+", given[1]):
                self._fail(body, "counter NAME +N with the name of a system counter, such as INVALID_PACKETS", f"`{body}`")
        elif word in ("delivered", "offer"):
            if not given:
                self._fail(body, f'{word} "TEXT"', "no text")
        elif given:
            self._fail(body, f"nothing behind {word}", f"`{' '.join(given)}`")

    def _words(self, text: str) -> list[str]:
        try:
            return shlex.split(text)
        except ValueError as error:
            self._fail(text, "words, with texts in quotes", str(error).lower())
        raise AssertionError

    def _frame(self, text: str) -> FrameText:
        words = self._words(text)
        kind = words[0] if words else ""
        if kind == "RAW":
            try:
                return FrameText("RAW", {"payload": bytes.fromhex("".join(words[1:]))})
            except ValueError:
                self._fail(text, "RAW and bytes in hex", f"`{text}`")
        if kind not in FIELDS and not (kind == "ANY" and len(words) == 1):
            self._fail(text, f"a frame: {', '.join(FIELDS)}, RAW or ANY", f"`{kind}`")
        fields: dict[str, Value] = {}
        for word in words[1:]:
            name, separator, value = word.partition("=")
            if not separator or name not in FIELDS[kind] | COMMON:
                self._fail(word, f"FIELD=VALUE with a field of {kind}: {', '.join(sorted(FIELDS[kind] | COMMON))}", f"`{word}`")
            fields[name] = self._value(kind, name, value)
        return FrameText(kind, fields)

    def _value(self, kind: str, name: str, text: str) -> Value:
        if name in TEXTS:
            return _text(text)
        if name == "flags" and kind in FLAGS and not NUMBER.fullmatch(text):
            known = FLAGS[kind].__members__
            parts = text.split("+")
            if not all(part in known for part in parts):
                self._fail(text, f"flags of {kind} joined by +: {', '.join(known)}; or a number", f"`{text}`")
            return sum({int(known[part]) for part in parts})
        if not NUMBER.fullmatch(text):
            self._fail(f"{name}={text}", f"{name}=NUMBER, decimal or 0x", f"`{text}`")
        value = int(text, 16 if "x" in text else 10)
        least, most = LIMITS.get(name, (-(1 << 63), (1 << 64) - 1))
        if not least <= value <= most:
            self._fail(f"{name}={text}", f"{name} from {least} to {most}", f"`{text}`")
        return value

    def _fail(self, where: str, expected: str, actual: str) -> None:
        column = self._text.find(where.split("\n", maxsplit=1)[0]) + 1 if where else 1
        raise ScriptError(f"{self._script.path}:{self._number}:{max(column, 1)}: expected {expected}; got {actual}")


def _parts(text: str) -> list[str]:
    """Return what stands between bars, but for bars within quotes."""
    found, quote = [""], ""
    for character in text:
        if character == "|" and not quote:
            found.append("")
            continue
        if character in "\"'" and quote in ("", character):
            quote = "" if quote else character
        found[-1] += character
    return [part.strip() for part in found]


def _text(text: str) -> bytes:
    """Return the bytes of a text; `TEXT*N` repeats it."""
    repeated = re.fullmatch(r"(.*)\*(\d{1,5})", text, re.DOTALL)
    return repeated[1].encode() * int(repeated[2]) if repeated else text.encode()
