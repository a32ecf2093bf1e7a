"""Files out of messages, and into a folder: literal messages, no driver."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from aerowire.codecs.flyweights.files import FileChunkEncoder, FileCreateEncoder
from aerowire.tools.files import file_receive, file_store
from aerowire.tools.files.file_intake import FAILED, FILES_MAX, INCOMPLETE, RECEIVED, REFUSED, FileIntake
from aerowire.tools.files.file_store import NUMBER, REFUSE, REPLACE, Folder

# version 0, type 1, correlation id 7, length 5, name length 5, name
CREATE = bytes.fromhex("00000000 01000000 0700000000000000 0500000000000000 05000000") + b"a.txt"
# version 0, type 2, correlation id 7, offset, length, bytes
FIRST = bytes.fromhex("00000000 02000000 0700000000000000 0000000000000000 0300000000000000") + b"hel"
LAST = bytes.fromhex("00000000 02000000 0700000000000000 0300000000000000 0200000000000000") + b"lo"


class Header(NamedTuple):
    session_id: int = 1


def put(intake: FileIntake, *messages: bytes, session_id: int = 1) -> None:
    for message in messages:
        framed = b"\xaa" * 32 + message + b"\xaa" * 64  # what lies around a message is not its own
        intake(memoryview(framed), 32, len(message), Header(session_id))


def create(name: str | bytes, length: int, correlation_id: int = 7) -> bytes:
    return FileCreateEncoder.encode(correlation_id=correlation_id, file_length=length, file_name=name)


def chunk(offset: int, payload: bytes, correlation_id: int = 7, length: int | None = None) -> bytes:
    return FileChunkEncoder.encode(correlation_id=correlation_id, chunk_offset=offset, payload=payload, chunk_length=length)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    (tmp_path / "inbox").mkdir()
    return tmp_path / "inbox"


@pytest.fixture
def intake(inbox: Path) -> Iterator[FileIntake]:
    with Folder(str(inbox)) as folder:
        yield FileIntake(folder)


def outcomes(intake: FileIntake) -> list[tuple[str, str]]:
    return [(ending.outcome, ending.name) for ending in intake.take_endings()]


def test_the_encoders_write_what_aeron_s_sample_writes() -> None:
    assert create("a.txt", 5) == CREATE
    assert (chunk(0, b"hel"), chunk(3, b"lo")) == (FIRST, LAST)


def test_a_file_has_another_name_until_it_is_whole(intake: FileIntake, inbox: Path) -> None:
    put(intake, CREATE, FIRST)
    assert names(inbox) == ["a.txt.partial"]
    assert intake.take_endings() == []
    put(intake, LAST)
    assert names(inbox) == ["a.txt"]
    assert (inbox / "a.txt").read_bytes() == b"hello"
    (ending,) = intake.take_endings()
    assert (ending.outcome, ending.path, ending.length, ending.received) == (RECEIVED, inbox / "a.txt", 5, 5)
    assert intake.files == {}


def test_an_empty_file_is_whole_at_once(intake: FileIntake, inbox: Path) -> None:
    put(intake, create("empty", 0))
    assert outcomes(intake) == [(RECEIVED, "empty")]
    assert (inbox / "empty").read_bytes() == b""


def test_files_of_several_senders_with_one_correlation_id_are_several(intake: FileIntake, inbox: Path) -> None:
    put(intake, create("one", 2), session_id=1)
    put(intake, create("two", 2), session_id=2)
    put(intake, chunk(0, b"11"), session_id=1)
    put(intake, chunk(0, b"22"), session_id=2)
    assert {path.name: path.read_bytes() for path in inbox.iterdir()} == {"one": b"11", "two": b"22"}


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../a.txt", "/etc/passwd", "sub/a.txt", "a\0b", "a\nb", "x" * 256, ".partial", "a.partial"]
)
def test_a_name_that_is_none_within_the_folder_is_refused(intake: FileIntake, inbox: Path, name: str) -> None:
    put(intake, create(name.encode(), 5), FIRST, LAST)
    assert outcomes(intake) == [(REFUSED, name)]
    assert sorted(inbox.parent.rglob("*")) == [inbox]
    assert not intake.bad
    assert intake.files == {}


def test_a_name_of_the_longest_has_a_partial_file(intake: FileIntake, inbox: Path) -> None:
    name = "ü" * 127 + "x"
    put(intake, create(name, 5), FIRST)
    assert len(names(inbox)) == 1
    put(intake, LAST)
    assert names(inbox) == [name]


@pytest.mark.parametrize(
    ("existing", "outcome", "found"),
    [
        (REFUSE, REFUSED, {"a.txt": b"old", "a.txt.1": b"older"}),
        (REPLACE, RECEIVED, {"a.txt": b"hello", "a.txt.1": b"older"}),
        (NUMBER, RECEIVED, {"a.txt": b"old", "a.txt.1": b"older", "a.txt.2": b"hello"}),
    ],
)
def test_a_file_that_is_there_is_not_overwritten_unasked(inbox: Path, existing: str, outcome: str, found: dict[str, bytes]) -> None:
    (inbox / "a.txt").write_bytes(b"old")
    (inbox / "a.txt.1").write_bytes(b"older")
    with Folder(str(inbox), existing) as folder:
        intake = FileIntake(folder)
        put(intake, CREATE, FIRST, LAST)
    assert outcomes(intake) == [(outcome, "a.txt")]
    assert {path.name: path.read_bytes() for path in inbox.iterdir()} == found


def test_a_file_that_appears_meanwhile_is_not_overwritten_either(intake: FileIntake, inbox: Path) -> None:
    put(intake, CREATE, FIRST)
    (inbox / "a.txt").write_bytes(b"mine")
    put(intake, LAST)
    assert outcomes(intake) == [(FAILED, "a.txt")]
    assert {path.name: path.read_bytes() for path in inbox.iterdir()} == {"a.txt": b"mine"}


def test_a_file_under_way_is_not_replaced_by_one_of_its_partial_name(inbox: Path) -> None:
    with Folder(str(inbox), REPLACE) as folder:
        intake = FileIntake(folder)
        put(intake, CREATE, FIRST, create("a.txt.partial", 3, 8), chunk(0, b"bad", 8), LAST)
    assert outcomes(intake) == [(REFUSED, "a.txt.partial"), (RECEIVED, "a.txt")]
    assert {path.name: path.read_bytes() for path in inbox.iterdir()} == {"a.txt": b"hello"}


def test_a_name_that_the_file_system_has_no_bytes_for_is_not_stored(inbox: Path) -> None:
    with Folder(str(inbox)) as folder, pytest.raises(file_store.NotStoredError, match="characters"):
        folder.begin("a\ud800", 5)


def test_a_folder_that_does_not_tell_what_it_has_refuses_the_file(intake: FileIntake, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_look(*_arguments: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", no_look)
        put(intake, CREATE)
    (ending,) = intake.take_endings()
    assert (ending.outcome, ending.reason) == (REFUSED, "Permission denied")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt even in a test run that was started with the signal ignored, as in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupting(call: Callable[..., Any]) -> Callable[..., Any]:
    def call_interrupted(*arguments: Any, **options: Any) -> Any:
        result = call(*arguments, **options)
        signal.raise_signal(signal.SIGINT)
        return result

    return call_interrupted


@pytest.mark.usefixtures("interruptible")
def test_a_signal_while_a_file_becomes_whole_comes_when_it_is(intake: FileIntake, inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(intake, CREATE, FIRST)
    monkeypatch.setattr(os, "fsync", interrupting(os.fsync))
    with pytest.raises(KeyboardInterrupt):
        put(intake, LAST)
    intake.close("interrupted")
    assert outcomes(intake) == [(RECEIVED, "a.txt")]
    assert names(inbox) == ["a.txt"]


@pytest.mark.usefixtures("interruptible")
def test_a_signal_while_a_file_begins_leaves_none_behind(intake: FileIntake, inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", interrupting(os.open))
        with pytest.raises(KeyboardInterrupt):
            put(intake, CREATE)
    assert names(inbox) == ["a.txt.partial"]
    intake.close("interrupted")
    assert outcomes(intake) == [(INCOMPLETE, "a.txt")]
    assert names(inbox) == []


@pytest.mark.parametrize("existing", [REFUSE, NUMBER])
def test_a_link_to_nowhere_is_there_too(inbox: Path, existing: str) -> None:
    (inbox / "a.txt").symlink_to(inbox.parent / "elsewhere")
    with Folder(str(inbox), existing) as folder:
        put(FileIntake(folder), CREATE, FIRST, LAST)
    assert not (inbox.parent / "elsewhere").exists()
    assert (inbox / "a.txt").is_symlink()


def test_without_hard_links_a_file_takes_its_name_as_carefully(intake: FileIntake, inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_arguments: object, **_options: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    put(intake, CREATE, FIRST, LAST, CREATE.replace(b"a.txt", b"b.txt"), FIRST)
    (inbox / "b.txt").write_bytes(b"mine")
    put(intake, LAST)
    assert outcomes(intake) == [(RECEIVED, "a.txt"), (FAILED, "b.txt")]
    assert {path.name: path.read_bytes() for path in inbox.iterdir()} == {"a.txt": b"hello", "b.txt": b"mine"}


def test_a_sender_that_goes_leaves_nothing_unless_it_is_to_be_kept(inbox: Path) -> None:
    for keeps in (False, True):
        with Folder(str(inbox)) as folder:
            intake = FileIntake(folder, keeps)
            put(intake, CREATE, FIRST)
            intake.on_session_end(2)
            assert intake.take_endings() == []
            intake.on_session_end(1)
            (ending,) = intake.take_endings()
        assert (ending.outcome, ending.received, ending.length) == (INCOMPLETE, 3, 5)
        assert ending.path == (inbox / "a.txt.partial" if keeps else None)
    assert (inbox / "a.txt.partial").read_bytes() == b"hel"


def test_a_partial_file_of_before_is_left_alone(intake: FileIntake, inbox: Path) -> None:
    (inbox / "a.txt.partial").write_bytes(b"of before")
    put(intake, CREATE, FIRST, LAST)
    assert {path.name: path.read_bytes() for path in inbox.iterdir()} == {"a.txt": b"hello", "a.txt.partial": b"of before"}


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([FIRST, FIRST], "a chunk at 0, expected at 3"),
        ([LAST], "a chunk at 3, expected at 0"),
        ([chunk(-1, b"x")], "a chunk at -1, expected at 0"),
        ([chunk(0, b"hello and more")], "14 bytes of it, expected 5"),
    ],
)
def test_a_file_whose_chunks_do_not_follow_each_other_is_given_up_once(
    intake: FileIntake, inbox: Path, messages: list[bytes], reason: str
) -> None:
    put(intake, CREATE, *messages)
    (ending,) = intake.take_endings()
    assert (ending.outcome, ending.reason) == (FAILED, reason)
    assert names(inbox) == []
    intake.close("over")
    assert intake.take_endings() == []


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (b"", "a wrong length"),
        (b"x", "a wrong length"),
        (CREATE[:15], "a wrong length"),
        (CREATE[:24], "a wrong length"),
        (CREATE[:-1], "a wrong length"),
        (FIRST[:31], "a wrong length"),
        (FIRST[:-1], "a wrong length"),
        (chunk(0, b"hel", length=1 << 60), "a wrong length"),
        (chunk(0, b"hel", length=-1), "a wrong length"),
        (b"\x01" + CREATE[1:], "another version"),
        (CREATE[:4] + b"\x03" + CREATE[5:], "an unknown type"),
        (create("x", -1, 8), "a negative file length"),
        (CREATE, "a file that has begun already"),
        (chunk(0, b"hel", 8), "a chunk of a file whose beginning has not come"),
    ],
)
def test_a_bad_message_is_counted_and_told_once_and_harms_no_file(intake: FileIntake, inbox: Path, message: bytes, kind: str) -> None:
    put(intake, CREATE, FIRST, message, message, LAST)
    assert dict(intake.bad) == {kind: 2}
    (news,) = intake.take_news()
    assert kind in news
    assert "session 1:" in news
    assert outcomes(intake) == [(RECEIVED, "a.txt")]
    assert (inbox / "a.txt").read_bytes() == b"hello"


def test_who_opens_files_and_sends_none_is_held_to_a_limit(intake: FileIntake, inbox: Path) -> None:
    put(intake, *(create(f"f{number}", 1, number) for number in range(FILES_MAX + 1)))
    assert outcomes(intake) == [(REFUSED, f"f{FILES_MAX}")]
    assert len(names(inbox)) == FILES_MAX
    intake.close("over")
    assert names(inbox) == []
    assert len(intake.take_endings()) == FILES_MAX


def test_a_file_larger_than_its_file_system_is_refused(intake: FileIntake, inbox: Path) -> None:
    put(intake, create("huge", (1 << 63) - 1))
    (ending,) = intake.take_endings()
    assert ending.outcome == REFUSED
    assert "there is room for" in ending.reason
    assert names(inbox) == []


def test_a_full_disk_ends_the_file_and_not_the_rest(intake: FileIntake, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    put(intake, CREATE, FIRST)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        put(intake, LAST)
    put(intake, create("b", 1, 8), chunk(0, b"b", 8))
    first, second = intake.take_endings()
    assert (first.outcome, first.reason, first.path) == (FAILED, "No space left on device", None)
    assert second.outcome == RECEIVED


def test_the_command_s_choices_are_those_of_the_folder() -> None:
    assert file_receive.EXISTING == file_store.EXISTING
