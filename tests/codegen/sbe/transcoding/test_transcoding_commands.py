"""`codegen decode` and `codegen encode`: files, pipes, hex and frames, and what becomes of what is damaged."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aerowire.codegen.main import main
from aerowire.codegen.sbe.interpreter import JsonCodec, MessageCodec, MessageError
from aerowire.codegen.sbe.transcoding import decoding, progress
from aerowire.codegen.sbe.transcoding.encoding import parse_json
from tests.codegen.sbe.example_messages import order_bytes, order_json, order_values
from tests.codegen.sbe.random_messages import SCHEMAS, own_schema

ORDERS = str(SCHEMAS / "orders.xml")
COMMAND = [sys.executable, "-m", "aerowire.codegen.main"]

Run = Callable[..., tuple[int, bytes, str]]


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    def call(*arguments: str | Path) -> tuple[int, bytes, str]:
        code = main([str(one) for one in arguments])
        out, err = capfdbinary.readouterr()
        return code, out, err.decode()

    return call


def tick(at: int) -> bytes:
    return MessageCodec(own_schema("orders")).encode("Tick", {"at": at, "bid": 2, "ask": 3, "size": 4})


def tick_json(at: int) -> dict[str, Any]:
    return {"at": at, "bid": 2, "ask": 3, "size": 4}


def lines(out: bytes) -> list[Any]:
    return [json.loads(line) for line in out.splitlines()]


def saved(folder: Path, content: bytes) -> Path:
    path = folder / "input"
    path.write_bytes(content)
    return path


def test_stream_is_decoded_and_encoded_to_the_same_bytes(run: Run, tmp_path: Path) -> None:
    stream = tick(1) + order_bytes() + tick(2)
    code, out, err = run("decode", ORDERS, saved(tmp_path, stream))
    assert (code, lines(out), err) == (0, [tick_json(1), order_json(), tick_json(2)], "")
    assert run("encode", ORDERS, saved(tmp_path, out)) == (0, stream, "")


def test_hex_is_decoded_and_encoded_line_by_line(run: Run, tmp_path: Path) -> None:
    given = f"{tick(1).hex()}\n\n{tick(2).hex(' ').upper()}".encode()
    code, out, _ = run("decode", ORDERS, saved(tmp_path, given), "--hex")
    assert (code, lines(out)) == (0, [tick_json(1), tick_json(2)])
    assert run("encode", ORDERS, "--hex", saved(tmp_path, out)) == (0, f"{tick(1).hex()}\n{tick(2).hex()}\n".encode(), "")


def test_frames_are_decoded_and_encoded(run: Run, tmp_path: Path) -> None:
    framed = b"".join(struct.pack(">IH", len(one) + 6, 0xEB50) + one for one in (tick(1), order_bytes()))
    code, out, _ = run("decode", ORDERS, "--framing", "sofh", saved(tmp_path, framed))
    assert (code, lines(out)) == (0, [tick_json(1), order_json()])
    assert run("encode", "--framing", "sofh", ORDERS, saved(tmp_path, out)) == (0, framed, "")


def test_damaged_line_of_hex_is_told_and_the_rest_decoded(run: Run, tmp_path: Path) -> None:
    given = [tick(1)[:20].hex(), "0g", tick(2).hex(), (tick(3)[:2] + b"\x63\0" + tick(3)[4:]).hex()]
    code, out, _ = run("decode", ORDERS, "--hex", saved(tmp_path, "\n".join(given).encode()))
    short, no_hex, good, unknown = lines(out)
    assert code == 1
    assert short["error"] == {
        "message": "the block goes beyond the end",
        "path": "Tick",
        "line": 1,
        "offset": 8,
        "expected": "28 bytes",
        "actual": "12 bytes",
    }
    assert (no_hex["error"]["message"], no_hex["error"]["line"], no_hex["error"]["actual"]) == ("the line is no hex", 2, "0g")
    assert good == tick_json(2)
    assert (unknown["error"]["line"], unknown["error"]["actual"]) == (4, 99)


@pytest.mark.parametrize(
    ("line", "told"),
    [(b"'zz'", "'zz'"), (b"\xff\x00\x1b", "0xff001b"), (b"0g" * 50, "0g" * 28 + "0..."), (b"\xff" * 99, f"0x{'ff' * 27}f...")],
)
def test_line_that_is_no_hex_is_shown_as_text_or_hex(run: Run, tmp_path: Path, line: bytes, told: str) -> None:
    code, out, _ = run("decode", ORDERS, "--hex", saved(tmp_path, line))
    assert (code, lines(out)[0]["error"]["actual"]) == (1, told)


def changed(message: bytes, at: int, number: int) -> bytes:
    return message[:at] + struct.pack("<H", number) + message[at + 2 :]


BLOCK, TEMPLATE, SCHEMA = 0, 2, 4


@pytest.mark.parametrize(
    ("damaged", "told"),
    [
        (changed(tick(2), SCHEMA, 0), {"message": "a message of another schema", "expected": "schemaId 901", "actual": 0}),
        (changed(tick(2), TEMPLATE, 99), {"message": "a message that the schema does not have", "actual": 99}),
        (changed(tick(2)[:20], BLOCK, 12), {"message": "the block is too short for its version", "path": "Tick", "actual": 12}),
    ],
)
def test_stream_goes_on_behind_a_block_that_a_message_or_the_end_follows(
    run: Run, tmp_path: Path, damaged: bytes, told: dict[str, Any]
) -> None:
    code, out, _ = run("decode", ORDERS, saved(tmp_path, tick(1) + damaged + tick(3) + damaged))
    good, first, other, last = lines(out)
    assert (code, good, other) == (1, tick_json(1), tick_json(3))
    assert told.items() <= first["error"].items()
    assert told.items() <= last["error"].items()
    assert (first["error"]["offset"] // 36, last["error"]["offset"] - first["error"]["offset"]) == (1, len(damaged) + 36)


def test_stream_goes_on_behind_several_unknown_messages(run: Run, tmp_path: Path) -> None:
    unknown = changed(tick(2), TEMPLATE, 99) * 5_000
    code, out, _ = run("decode", ORDERS, saved(tmp_path, tick(1) + unknown + tick(3) + unknown))
    assert (code, [one.get("at") for one in lines(out)]) == (1, [1, *[None] * 5_000, 3, *[None] * 5_000])


@pytest.mark.parametrize(
    "damaged",
    [
        changed(tick(2), SCHEMA, 0) + b"\1\0\0\0data",
        changed(tick(2), TEMPLATE, 99) + changed(tick(3), SCHEMA, 0),
        changed(tick(2), TEMPLATE, 99) * 70,
        changed(tick(2), TEMPLATE, 99)[:35],
        changed(tick(2), TEMPLATE, 99) + b"\0",
    ],
)
def test_stream_ends_where_no_message_follows_a_damaged_one(
    run: Run, tmp_path: Path, damaged: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "UNKNOWN_MAX", 64)
    stream = tick(1) + damaged + (b"" if len(damaged) < 40 else tick(4))
    code, out, _ = run("decode", ORDERS, saved(tmp_path, stream))
    good, *errors, rest = lines(out)
    assert (code, good) == (1, tick_json(1))
    assert errors[0]["error"]["offset"] == 36
    assert "nothing from here on was decoded" in rest["error"]["message"]
    assert rest["error"]["offset"] + rest["error"]["remaining"] == len(stream)


@pytest.mark.parametrize("length", [1, 7, 8, 9, 35])
def test_stream_that_is_cut_off_is_told(run: Run, tmp_path: Path, length: int) -> None:
    code, out, _ = run("decode", ORDERS, saved(tmp_path, tick(1) + tick(2)[:length]))
    good, damaged, rest = lines(out)
    assert (code, good) == (1, tick_json(1))
    assert "goes beyond the end" in damaged["error"]["message"]
    assert (rest["error"]["offset"], rest["error"]["remaining"]) == (36, length)


def test_length_beyond_all_reason_does_not_make_it_wait_or_fill_the_memory(run: Run, tmp_path: Path) -> None:
    seal = order_bytes().index(b"b\2\0\0\0\1\2") + 1
    damaged = order_bytes()[:seal] + b"\xff\xff\xff\xff" + order_bytes()[seal + 4 :]
    code, out, _ = run("decode", ORDERS, saved(tmp_path, damaged + bytes(3_000_000)))
    told, rest = lines(out)
    assert (code, told["error"]["path"], told["error"]["offset"]) == (1, "Order.fills[0].seal", seal + 4)
    assert rest["error"]["remaining"] == len(damaged) + 3_000_000


def test_damaged_frame_is_told_and_the_rest_decoded(run: Run, tmp_path: Path) -> None:
    header = struct.Struct(">IH")
    short = tick(2)[:-1]
    given = header.pack(6 + len(short), 0xEB50) + short + header.pack(42, 0x5BE0) + tick(3) + header.pack(42, 0xEB50) + tick(4)
    code, out, _ = run("decode", ORDERS, "--framing", "sofh", saved(tmp_path, given + header.pack(5, 0xEB50) + b"xy"))
    cut, encoding, good, length, rest = lines(out)
    assert (code, good) == (1, tick_json(4))
    assert (cut["error"]["path"], cut["error"]["offset"]) == ("Tick", 14)
    assert (encoding["error"]["expected"], encoding["error"]["actual"]) == ("0xEB50", "0x5BE0")
    assert (length["error"]["actual"], rest["error"]["remaining"]) == (5, 8)


def test_lines_that_are_no_message_are_told_and_the_rest_encoded(run: Run, tmp_path: Path) -> None:
    deep = b"[" * 100_000
    given = [
        json.dumps(tick_json(1)).encode(),
        b'{"at": 1,',
        b'{"at": 1, "at": 2, "bid": 2, "ask": 3}',
        b'{"at": 1, "bid": NaN, "ask": 3}',
        b'{"at": "\xff"}',
        deep,
        b'{"at": ' + b"9" * 5000 + b', "bid": 2, "ask": 3}',
        b'{"at": 1, "bid": 2.5, "ask": 3}',
        b"",
        b'{"error": {"message": "what decode prints"}}',
        json.dumps(tick_json(2)).encode(),
    ]
    code, out, err = run("encode", ORDERS, saved(tmp_path, b"\n".join(given)))
    assert (code, out) == (1, tick(1) + tick(2))
    told = err.splitlines()
    assert [line.split(": ")[1] for line in told] == [f"line {number}" for number in (2, 3, 4, 5, 6, 7, 8, 10)]
    assert told[1] == "codegen encode: line 3: has a key twice (actual 'at')"
    assert told[6] == "codegen encode: line 8: Tick.bid: is of the wrong kind (expected int64, actual 2.5)"


@pytest.mark.parametrize("depth", [300, 400, 500, 950, 100_000])
def test_line_that_is_nested_too_deep_for_any_message_is_told(run: Run, tmp_path: Path, depth: int) -> None:
    values = [b"[" * depth + b"]" * depth, b'{"x": ' * depth + b"0" + b"}" * depth]
    keys = (b"at", b"_header", b"_template", b"_rest", b"_padding", b"unknown")
    lines = [b'{"bid": 2, "ask": 3, "%s": %s}' % (key, value) for key in keys for value in values]
    code, out, err = run("encode", ORDERS, saved(tmp_path, b"\n".join([*lines, json.dumps(tick_json(1)).encode()])))
    assert (code, out) == (1, tick(1))
    assert [line.split(": ")[1] for line in err.splitlines()] == [f"line {number}" for number in range(1, len(lines) + 1)]


def test_key_that_is_there_twice_behind_many_others_is_found_at_once() -> None:
    """Looking for the key by counting each would take minutes."""
    with pytest.raises(MessageError, match="has a key twice \\(actual '99999'\\)"):
        parse_json(b'{%s, "99999": 0}' % b", ".join(b'"%d": 0' % key for key in range(100_000)))


def test_stream_of_messages_without_bytes_ends(run: Run, tmp_path: Path) -> None:
    numbers = {"blockLength": 0, "templateId": 1, "schemaId": 1, "version": 0}
    types = "".join(f'<type name="{name}" primitiveType="uint16" presence="constant">{one}</type>' for name, one in numbers.items())
    text = f"""<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" package="own" id="1" byteOrder="littleEndian">
<types><composite name="messageHeader">{types}</composite></types><sbe:message name="Nothing" id="1"/></sbe:messageSchema>"""
    (tmp_path / "nothing.xml").write_text(text)
    code, out, _ = run("decode", tmp_path / "nothing.xml", saved(tmp_path, b"x"))
    told = {"message": "the schema's messages take no bytes: nothing from here on was decoded", "offset": 0, "remaining": 1}
    assert (code, [json.loads(line) for line in out.splitlines()]) == (1, [{"error": told}])


def test_names_are_put_into_every_line_on_request(run: Run, tmp_path: Path) -> None:
    _, out, _ = run("decode", ORDERS, "--template-names", saved(tmp_path, tick(1)))
    assert lines(out) == [{"_template": "Tick"} | tick_json(1)]


def test_characters_that_terminals_obey_are_escaped(run: Run, tmp_path: Path) -> None:
    raw = MessageCodec(own_schema("orders")).encode("Order", order_values() | {"comment": "é\x9b31m\x7f"})
    _, out, _ = run("decode", ORDERS, saved(tmp_path, raw))
    assert "é\\u009b31m\\u007f" in out.decode()


def test_mistakes_of_usage_have_exit_code_2(run: Run, tmp_path: Path) -> None:
    assert run("decode", ORDERS, tmp_path / "none")[0] == 2
    assert "is a directory" in run("decode", ORDERS, tmp_path)[2]
    assert run("decode", tmp_path / "none.xml", os.devnull)[0] == 2
    assert run("decode", ORDERS, os.devnull, "--hex", "--framing", "sofh")[0] == 2
    for late in (["--colour"], ["one", "two"]):
        with pytest.raises(SystemExit, match="2"):
            main(["decode", ORDERS, "--hex", *late])


def test_encode_refuses_a_terminal() -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run([*COMMAND, "encode", ORDERS, os.devnull], stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 2
    assert b"standard output is a terminal; use --hex" in done.stderr


def test_pipe_gets_each_message_when_it_is_there() -> None:
    with subprocess.Popen([*COMMAND, "decode", ORDERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for at in (1, 2):
            process.stdin.write(tick(at)[:30])
            process.stdin.flush()
            process.stdin.write(tick(at)[30:])
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == tick_json(at)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 1


def test_reader_that_leaves_ends_it_quietly(tmp_path: Path) -> None:
    path = saved(tmp_path, order_bytes() * 5_000)
    command = [*COMMAND, "decode", ORDERS, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(20) == 1


def test_messages_longer_than_a_pipe_holds_are_decoded() -> None:
    payload = os.urandom(65_536)
    entry: dict[str, object] = {"size": 1, "state": 0, "fee": None, "parts": [], "broker": "b" * 60_000, "seal": payload}
    raw = MessageCodec(own_schema("orders")).encode("Order", order_values() | {"fills": [entry] * 20})
    done = subprocess.run([*COMMAND, "decode", ORDERS], input=raw + raw, capture_output=True, check=True)
    expected = JsonCodec(own_schema("orders")).decode(raw)[0]
    assert lines(done.stdout) == [expected, expected]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_told_on_a_terminal_and_taken_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    terminal = Terminal()
    monkeypatch.setattr(progress, "INTERVAL_S", 0.0)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with saved(tmp_path, bytes(2_000_000)).open("rb") as file:
        told = progress.Progress("messages", file.fileno())
        told.tell(1_024, 1_000_000)
        told.close()
    assert terminal.getvalue() == "\r\033[K1,024 messages, 1.0 MB (50 %)\r\033[K"
