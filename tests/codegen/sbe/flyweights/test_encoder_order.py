"""Encoders refuse every step that would make a message which no decoder can read, without any setting."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy
import pytest

from aerowire.codecs.flyweights.archive import ListRecordingsForUriRequestEncoder, SbeError
from tests.codegen.sbe.packages import garage, import_package

WALKS, STEPS_MAX = 300, 60


@pytest.fixture(scope="module")
def codecs(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return import_package(garage(), tmp_path_factory.mktemp("garage"))


@pytest.fixture
def out(codecs: ModuleType) -> Any:
    return codecs.CarEncoder().wrap_and_apply_header(bytearray(500))


def finish(out: Any) -> None:
    """Write what is behind the tours."""
    out.newer(0)
    out.maker, out.picture, out.wide = "m", b"", ""


def test_a_group_of_blocks_needs_all_its_entries(codecs: ModuleType, out: Any) -> None:
    legs = out.legs(3)
    legs.next()
    with pytest.raises(codecs.SbeError, match=r"Car\.tours: fields in illegal order: expected 2 more entries, found a later field"):
        out.tours(0)
    with pytest.raises(codecs.SbeError, match=r"Car: the message is not complete: expected 2 more entries, found its end"):
        _ = out.encoded_length


def test_a_group_with_groups_needs_all_its_entries(codecs: ModuleType, out: Any) -> None:
    out.legs(0)
    tours = out.tours(2)
    tour = tours.next()
    with pytest.raises(codecs.SbeError, match=r"Car\.newer: .*: expected Car\.tours\[0\]\.stops, found a later field"):
        out.newer(0)
    with pytest.raises(codecs.SbeError, match=r"Car\.tours: .*: expected Car\.tours\[0\]\.stops, found the next entry"):
        next(tours)
    tour.stops(0)
    tour.title, tour.raw = "t", b""
    with pytest.raises(codecs.SbeError, match=r"Car\.newer: .*: expected 1 more entries, found a later field"):
        out.newer(0)


def test_parts_are_written_in_order_and_once(codecs: ModuleType, out: Any) -> None:
    with pytest.raises(codecs.SbeError, match=r"Car\.maker: fields in illegal order: expected legs, found a later field"):
        out.maker = "early"
    out.legs(0)
    with pytest.raises(codecs.SbeError, match=r"Car\.legs: fields in illegal order: expected tours, found this one again"):
        out.legs(1)
    out.tours(0)
    finish(out)
    with pytest.raises(codecs.SbeError, match=r"Car\.picture: fields in illegal order: expected nothing more, found this one again"):
        out.picture = b"twice"
    assert codecs.Car.decode(out.sbe_buffer).maker == "m"


def test_an_entry_cannot_be_written_any_more_when_the_next_is_begun(codecs: ModuleType, out: Any) -> None:
    out.legs(0)
    tours = out.tours(2)
    first = tours.next()
    first.stops(0)
    first.title, first.raw = "one", b""
    second = tours.next()
    with pytest.raises(codecs.SbeError, match=r"Car\.tours\[0\]\.raw: .*: expected Car\.tours\[1\]\.stops"):
        first.raw = b"late"
    second.stops(0)
    second.title, second.raw = "two", b""
    with pytest.raises(codecs.SbeError, match=r"Car\.tours\[0\]\.title"):
        first.title = "late"
    with pytest.raises(codecs.SbeError, match="there are no more entries to write"):
        tours.next()


def test_groups_of_a_message_that_is_no_longer_written_are_refused(codecs: ModuleType, out: Any) -> None:
    flat = out.legs(2)
    out.rewind()
    with pytest.raises(codecs.SbeError, match=r"Car\.legs: .*: expected Car\.legs, found the next entry"):
        flat.next()
    out.legs(0)
    with pytest.raises(codecs.SbeError, match=r"Car\.legs: .*: expected no more entries, found the next entry"):
        flat.next()
    nested = out.tours(1)
    out.rewind()
    out.legs(0)
    with pytest.raises(codecs.SbeError, match=r"Car\.tours: .*: expected Car\.tours, found the next entry"):
        nested.next()


def test_what_is_refused_changes_nothing(codecs: ModuleType, out: Any) -> None:
    out.legs(0)
    with pytest.raises(codecs.SbeError, match="cannot have so many entries"):
        out.tours(256)
    out.tours(0)
    out.newer(0)
    with pytest.raises(codecs.SbeError, match="cannot be written"):
        out.maker = 5
    out.maker = "m"
    with pytest.raises(codecs.SbeError, match="the buffer is too small"):
        out.picture = bytes(1_000)
    out.picture, out.wide = b"", ""
    assert codecs.Car.decode(out.sbe_buffer).tours == []


def test_the_length_of_a_message_is_told_when_it_is_complete(codecs: ModuleType, out: Any) -> None:
    out.legs(0)
    out.tours(0)
    out.newer(0)
    out.maker = ""
    with pytest.raises(codecs.SbeError, match=r"Car: the message is not complete: expected Car\.picture, found its end"):
        _ = out.encoded_length
    out.picture, out.wide = b"", ""
    assert out.encoded_length == out.sbe_limit - 8
    out.sbe_check_complete()
    with pytest.raises(codecs.SbeError, match="nothing is wrapped"):
        codecs.CarEncoder().sbe_check_complete()


def test_a_count_may_be_any_whole_number(codecs: ModuleType, out: Any) -> None:
    assert len(list(out.legs(numpy.int64(2)))) == 2
    for wrong in (1.0, "1", None):
        with pytest.raises(codecs.SbeError, match=r"Car\.tours: a group cannot have so many entries: expected 0 to 254"):
            out.tours(wrong)


def test_an_encoder_that_is_gone_leaves_its_buffer_free(codecs: ModuleType) -> None:
    buffer = bytearray(500)
    gc.disable()
    try:
        out = codecs.CarEncoder().wrap_and_apply_header(buffer)
        out.legs(1).next()
        tours = out.tours(1)
        tour = tours.next()
        tour.stops(1).next().note = "n"
        del tours, tour, out
        buffer.extend(b"more")  # BufferError while anything holds a view
    finally:
        gc.enable()


def test_whatever_is_called_in_any_order_a_complete_message_can_be_read(codecs: ModuleType, seed: int) -> None:
    chance = random.Random(seed)
    complete = 0
    for _ in range(WALKS):
        buffer = bytearray(4_000)
        out = codecs.CarEncoder().wrap_and_apply_header(buffer)
        groups: list[Any] = []
        blocks: list[Any] = [out]
        for _ in range(STEPS_MAX):
            step = _steps(chance, blocks, groups)
            try:
                step()
            except (codecs.SbeError, StopIteration):
                continue
        try:
            length = 8 + out.encoded_length
        except codecs.SbeError:
            continue
        complete += 1
        read = codecs.Car.decode(bytes(buffer[:length]))
        assert read.encode()[98:] == bytes(buffer[98:length]), f"seed {seed}"
    assert complete > WALKS // 10


def _steps(chance: random.Random, blocks: list[Any], groups: list[Any]) -> Callable[[], None]:
    """One call, often of what comes next, on any block or group that was ever handed out."""
    if groups and chance.random() < 0.4:
        group = chance.choice([groups[-1], chance.choice(groups)])
        return lambda: blocks.append(group.next())
    block = chance.choice([blocks[-1], blocks[0], chance.choice(blocks)])
    if not block._PARTS:
        return lambda: None
    index = chance.randrange(len(block._PARTS)) if chance.random() < 0.3 else min(block._cursor.passed, len(block._PARTS) - 1)
    name = block._MEMBERS[len(block._MEMBERS) - len(block._PARTS) + index]
    if hasattr(block._PARTS[index], "decoder"):
        return lambda: groups.append(getattr(block, name)(chance.choice([0, 0, 1, 2])))
    value = b"ab" if name in {"picture", "raw"} else "ab"
    return lambda: setattr(block, name, value)


def test_the_project_s_own_encoders_check_too() -> None:
    encoder = ListRecordingsForUriRequestEncoder().wrap_and_apply_header(bytearray(100))
    with pytest.raises(SbeError, match=r"not complete: expected ListRecordingsForUriRequest\.channel, found its end"):
        _ = encoder.encoded_length
