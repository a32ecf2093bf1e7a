"""`aerowire file send` and `aerowire file receive`, as processes."""

from __future__ import annotations

import json
import os
import pty
import random
import signal
import subprocess
from argparse import Namespace
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

from aerowire.client import Aeron
from aerowire.codecs.flyweights.files import FileChunkEncoder, FileCreateEncoder
from aerowire.tools.files.file_intake import FileIntake
from aerowire.tools.files.file_receive import _Receiver
from aerowire.tools.files.file_store import Folder
from aerowire.tools.files.transfer_display import TransferDisplay
from tests.support.processes import free_port
from tests.support.waiting import wait_until

Start = Callable[..., subprocess.Popen[bytes]]
Run = Callable[..., tuple[int, str, str]]
TIMEOUT_S = 60
# The driver's terms are 64 KiB.
LENGTH = 3_000_001


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    (tmp_path / "inbox").mkdir()
    return tmp_path / "inbox"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.bin"
    path.write_bytes(random.Random(7).randbytes(LENGTH))
    return path


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    output, errors = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, output.decode(), errors.decode()


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_a_file_of_many_terms_arrives_whole(start: Start, run_command: Run, inbox: Path, source: Path, medium: str) -> None:
    channel = "aeron:ipc" if medium == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    stream = ("--channel", channel, "--stream", "2001")
    receiver = start("file", "receive", str(inbox), "--once", *stream)
    code, output, errors = run_command("file", "send", str(source), *stream)
    assert (code, errors) == (0, "")
    assert output.startswith(f"sent {source} as source.bin: 2.9 MiB in ")
    code, output, errors = ended(receiver)
    assert (code, errors) == (0, "")
    assert output.startswith(f"received {inbox / 'source.bin'}: 2.9 MiB in ")
    assert (inbox / "source.bin").read_bytes() == source.read_bytes()
    assert names(inbox) == ["source.bin"]


def test_several_files_one_after_the_other_as_json(start: Start, run_command: Run, inbox: Path, tmp_path: Path) -> None:
    lengths = {"empty": 0, "one": 1, "exact": 8192, "long": 300_000}
    for name, length in lengths.items():
        (tmp_path / name).write_bytes(os.urandom(length))
    stream = ("--channel", "aeron:ipc", "--stream", "2002", "--json")
    receiver = start("file", "receive", str(inbox), *stream)
    code, output, errors = run_command("file", "send", *(str(tmp_path / name) for name in lengths), *stream)
    assert (code, errors) == (0, "")
    assert {item["name"]: item["length"] for item in map(json.loads, output.splitlines())} == lengths
    assert receiver.stdout is not None
    told = [json.loads(receiver.stdout.readline()) for _ in lengths]
    receiver.send_signal(signal.SIGTERM)
    assert ended(receiver) == (0, "", "")
    assert [(item["outcome"], item["name"], item["path"]) for item in told] == [("received", name, str(inbox / name)) for name in lengths]
    for name in lengths:
        assert (inbox / name).read_bytes() == (tmp_path / name).read_bytes()


def test_a_name_of_one_s_own_and_one_that_is_taken(start: Start, run_command: Run, inbox: Path, source: Path) -> None:
    (inbox / "other.bin").write_bytes(b"mine")
    stream = ("--channel", "aeron:ipc", "--stream", "2003")
    receiver = start("file", "receive", str(inbox), "--once", *stream)
    run_command("file", "send", str(source), "--name", "other.bin", *stream)
    code, output, errors = ended(receiver)
    assert (code, output) == (1, "")
    assert errors == "aerowire file receive: refused other.bin: a file of that name is there already\n"
    assert (inbox / "other.bin").read_bytes() == b"mine"


def test_a_killed_sender_leaves_no_file(start: Start, driver_dir: str, inbox: Path) -> None:
    receiver = start("file", "receive", str(inbox), "--channel", "aeron:ipc", "--stream", "2004")
    with Aeron.connect(aeron_dir=driver_dir) as aeron, aeron.add_exclusive_publication("aeron:ipc", 2004) as publication:
        wait_until(lambda: publication.is_connected, "the receiver")
        publication.send(FileCreateEncoder.encode(correlation_id=1, file_length=10, file_name="half"))
        publication.send(FileChunkEncoder.encode(correlation_id=1, payload=b"12345"))
        wait_until(lambda: names(inbox) == ["half.partial"], "the file's beginning")
    assert receiver.stderr is not None
    told = receiver.stderr.readline().decode()
    assert told == "aerowire file receive: incomplete half after 5 of 10 bytes: the sender has gone\n"
    assert names(inbox) == []
    receiver.send_signal(signal.SIGINT)
    assert ended(receiver) == (1, "", "")


def test_an_interrupted_receiver_says_what_is_not_whole_and_what_was_no_file(start: Start, driver_dir: str, inbox: Path) -> None:
    stream = ("--channel", "aeron:ipc", "--stream", "2005")
    receiver = start("file", "receive", str(inbox), "--keep-partial", *stream)
    with Aeron.connect(aeron_dir=driver_dir) as aeron, aeron.add_exclusive_publication("aeron:ipc", 2005) as publication:
        wait_until(lambda: publication.is_connected, "the receiver")
        for message in (b"", b"no file", b"\xff" * 40, b"no file"):
            publication.send(message)
        publication.send(FileCreateEncoder.encode(correlation_id=1, file_length=10, file_name="half"))
        wait_until(lambda: names(inbox) == ["half.partial"], "the file's beginning")
        receiver.send_signal(signal.SIGTERM)  # within what begins the file, it may be
        code, output, errors = ended(receiver)
    assert (code, output) == (1, "")
    lines = errors.splitlines()
    assert len(lines) == 4
    assert "a message with a wrong length is dropped: 0 bytes" in lines[0]
    assert "another version is dropped: version -1, expected 0" in lines[1]
    assert lines[2].endswith(f"incomplete half: interrupted; what there is lies in {inbox / 'half.partial'}")
    assert lines[3].endswith("4 messages were dropped: 3 with a wrong length, 1 with another version")


def test_once_ends_with_1_beside_a_file_that_is_not_whole(start: Start, driver_dir: str, inbox: Path) -> None:
    receiver = start("file", "receive", str(inbox), "--once", "--channel", "aeron:ipc", "--stream", "2009")
    with Aeron.connect(aeron_dir=driver_dir) as aeron, aeron.add_exclusive_publication("aeron:ipc", 2009) as publication:
        wait_until(lambda: publication.is_connected, "the receiver")
        publication.send(FileCreateEncoder.encode(correlation_id=1, file_length=10, file_name="half"))
        publication.send(FileCreateEncoder.encode(correlation_id=2, file_length=0, file_name="whole"))
        code, output, errors = ended(receiver)
    assert (code, errors) == (1, "aerowire file receive: incomplete half: the receiver ends\n")
    assert output.startswith(f"received {inbox / 'whole'}: ")


def test_a_name_that_the_output_s_encoding_has_not_is_written_as_escapes(start: Start, inbox: Path, source: Path) -> None:
    stream = ("--channel", "aeron:ipc", "--stream", "2010")
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    receiver = start("file", "receive", str(inbox), *stream, env=ascii_only)
    assert receiver.stdout is not None
    for name, sent in (("ü1", {}), ("ü2", {"env": ascii_only})):
        code, output, errors = ended(start("file", "send", str(source), "--name", name, *stream, **sent))
        assert (code, errors) == (0, "")
        assert receiver.stdout.readline().decode().startswith(f"received {inbox}/\\xfc{name[1]}: ")
    assert output.startswith(f"sent {source} as \\xfc2: ")
    receiver.send_signal(signal.SIGTERM)
    assert ended(receiver) == (0, "", "")
    assert names(inbox) == ["ü1", "ü2"]


def test_bars_on_a_terminal_leave_other_lines_whole_and_in_their_place(start: Start, run_command: Run, inbox: Path, source: Path) -> None:
    stream = ("--channel", "aeron:ipc", "--stream", "2011")
    terminal, its_end = pty.openpty()
    receiver = start("file", "receive", str(inbox), *stream, stderr=its_end, env={**os.environ, "TERM": "xterm", "COLUMNS": "40"})
    os.close(its_end)
    assert receiver.stdout is not None
    assert run_command("file", "send", str(source), *stream)[0] == 0
    assert receiver.stdout.readline().decode().startswith(f"received {inbox / 'source.bin'}: ")
    assert run_command("file", "send", str(source), *stream)[0] == 0
    shown = ""
    refused = "aerowire file receive: refused source.bin: a file of that name is there already"
    while refused not in shown:
        shown += os.read(terminal, 65536).decode()  # ends with OSError when the receiver does
    assert "received" not in shown
    assert shown.rpartition("\x1b[?25")[2].startswith("h"), "a command that is killed now leaves the cursor hidden"
    receiver.send_signal(signal.SIGTERM)
    assert receiver.wait(TIMEOUT_S) == 1
    os.close(terminal)


def test_a_receiver_frees_what_it_has_collected_of_a_sender_that_has_gone(driver_dir: str, inbox: Path) -> None:
    gone: deque[int] = deque()
    with (
        Folder(str(inbox)) as folder,
        Aeron.connect(aeron_dir=driver_dir) as aeron,
        aeron.add_subscription("aeron:ipc", 2012, unavailable_image_handler=lambda image: gone.append(image.session_id)) as subscription,
    ):
        receiver = _Receiver(FileIntake(folder), subscription, gone, TransferDisplay(), Namespace(json=False), driver_dir)
        with aeron.add_exclusive_publication("aeron:ipc", 2012) as publication:
            wait_until(lambda: publication.is_connected, "the receiver")
            session_id = publication.session_id
            publication.send(FileCreateEncoder.encode(correlation_id=1, file_length=0, file_name="x" * 250) + bytes(5_000))
            wait_until(lambda: subscription.poll(receiver._assembler) > 0 and inbox.joinpath("x" * 250).exists(), "the message")
        wait_until(lambda: gone, "the sender's end")
        receiver._look()
        assert not receiver._assembler.free_session_buffer(session_id)
        assert not gone


def test_a_receiver_that_leaves_ends_the_sender(start: Start, driver_dir: str, tmp_path: Path) -> None:
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(1 << 30)
    with Aeron.connect(aeron_dir=driver_dir) as aeron:
        with aeron.add_subscription("aeron:ipc", 2006) as subscription:
            sender = start("file", "send", str(big), "--channel", "aeron:ipc", "--stream", "2006")
            wait_until(lambda: subscription.poll(lambda *_: None) > 0, "the file's beginning")
        assert ended(sender) == (1, "", f"aerowire file send: {big}: the receiver left before it had everything\n")


def test_a_file_that_becomes_shorter_is_not_sent_as_whole(start: Start, driver_dir: str, tmp_path: Path) -> None:
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(1 << 30)
    with Aeron.connect(aeron_dir=driver_dir) as aeron, aeron.add_subscription("aeron:ipc", 2007) as subscription:
        sender = start("file", "send", str(big), "--channel", "aeron:ipc", "--stream", "2007")
        wait_until(lambda: subscription.poll(lambda *_: None) > 0, "the file's beginning")
        os.truncate(big, 1000)
        while sender.poll() is None:
            subscription.poll(lambda *_: None, 256)
        code, output, errors = ended(sender)
    assert (code, output) == (1, "")
    assert "it has become shorter" in errors


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["send", "{source}", "--wait", "0.1"], 1, "no receiver for aeron:ipc stream 2008 within 0.1 s"),
        (["receive", "{inbox}", "--wait", "0.1"], 1, "no sender for aeron:ipc stream 2008 within 0.1 s"),
        (["send", "/no/such/file"], 2, "No such file or directory: /no/such/file"),
        (["send", "{source}", "/dev/null"], 2, "only a regular file can be sent"),
        (["send", "{inbox}"], 2, "Is a directory"),
        (["send", "{pipe}"], 2, "only a regular file can be sent"),
        (["send", "{source}", "{source}", "--name", "x"], 2, "--name is for one file"),
        (["receive", "/no/such/folder"], 2, "No such file or directory: /no/such/folder"),
        (["receive", "{source}"], 2, "Not a directory"),
        (["receive", "{inbox}", "--existing", "eat"], 2, "--existing"),
    ],
)
def test_what_cannot_be_is_said(run_command: Run, inbox: Path, source: Path, arguments: list[str], code: int, said: str) -> None:
    os.mkfifo(pipe := inbox.parent / "pipe")
    given = [argument.format(source=source, inbox=inbox, pipe=pipe) for argument in arguments]
    found, output, errors = run_command("file", *given, "--channel", "aeron:ipc", "--stream", "2008")
    assert (found, output) == (code, "")
    assert said in errors
    assert "Traceback" not in errors
