"""The index of one file made by several: what slices say together is what one pass says, and what they cannot tell is read in one go."""

from __future__ import annotations

import multiprocessing
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from aerowire.codecs.flyweights.transport import StatusMessageEncoder
from aerowire.pcap.reading import index, slices
from aerowire.pcap.reading.slices import SharedIndexBuilder, Slice, look, merged
from tests.support.captures.hostile import packets as hostile_packets

SPACING = 20_000


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(index, "CUT_SPACING_MIN", SPACING)
    monkeypatch.setattr(slices, "SLICE_LENGTH_MIN", 100_000)


def mixed(build: SimpleNamespace, path: Path, seed: int) -> Path:
    """Aeron among hostile traffic, and flows whose one proof may lie on both sides of a cut."""
    rng = random.Random(seed)
    own = [build.ethernet(build.ip4(*datagram)) for datagram in build.conversation(rng, 2000)]
    for number in range(60):
        ends = ((f"10.1.0.{number + 1}", 40001), ("10.2.0.1", 40002))
        for at in range(2):
            frame = build.data_frame(64 * at, bytes(32), session_id=100 + number // 2)
            own.insert(rng.randrange(len(own) // 4) + at * len(own) // 2, build.ethernet(build.ip4(frame, *ends)))
    status = StatusMessageEncoder.encode(session_id=7, stream_id=1001, consumption_term_id=3, receiver_window=65536, receiver_id=9)
    own.append(build.ethernet(build.ip4(status, ("10.0.0.2", 40005), ("239.1.1.2", 40001))))
    others = hostile_packets(rng, 3000)
    places = sorted(rng.sample(range(len(own) + len(others)), len(own)))
    mine, foreign, chosen = iter(own), iter(others), set(places)
    path.write_bytes(build.classic([next(mine) if place in chosen else next(foreign) for place in range(len(own) + len(others))]))
    return path


def in_slices(path: Path, step: int) -> list[Slice]:
    length = path.stat().st_size
    found = [look(str(path), start, min(start + step, length), SPACING) for start in range(0, length, step)]
    assert None not in found
    return [Slice.from_json(one.to_json()) for one in found if one is not None]


def test_slices_say_together_what_one_pass_says(build: SimpleNamespace, tmp_path: Path, seed: int) -> None:
    path = mixed(build, tmp_path / "capture.pcap", seed)
    whole = index.build(path)
    assert len(whole.findings.counted) > 20
    rng = random.Random(seed)
    for step in (path.stat().st_size, rng.randint(300_000, 800_000), rng.randint(100_000, 200_000)):
        together = merged(in_slices(path, step))
        assert together is not None
        cuts, findings = together
        assert findings == whole.findings, f"seed {seed}: slices of {step} bytes"
        places = {cut.position: cut.packet_index for cut in index.Index("", 0, whole.cuts, findings, is_damaged=False).cuts}
        assert len({cut.position for cut in cuts} & set(places)) > 0
        assert all(places.get(cut.position, cut.packet_index) == cut.packet_index for cut in cuts)
        assert len(cuts) >= len(whole.cuts)
        assert [cut.position for cut in cuts] == sorted({cut.position for cut in cuts})


def test_neighbours_that_do_not_agree_are_not_put_together(build: SimpleNamespace, tmp_path: Path) -> None:
    found = in_slices(mixed(build, tmp_path / "capture.pcap", 3), 400_000)
    assert merged(found) is not None
    assert merged([found[0], *found[2:]]) is None


def make(path: str, answers: multiprocessing.Queue[index.Index]) -> None:
    answers.put(index.find_or_build(path))


def test_those_who_wait_make_the_index_together(build: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    path = mixed(build, tmp_path / "capture.pcap", seed)
    whole = index.build(path)

    def refused(_: object) -> index.Index:
        raise AssertionError("the file was read in one go")

    monkeypatch.setattr(index, "build", refused)
    context = multiprocessing.get_context("fork")
    answers: multiprocessing.Queue[index.Index] = context.Queue()
    workers = [context.Process(target=make, args=(str(path), answers)) for _ in range(3)]
    for worker in workers:
        worker.start()
    found = [answers.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert found[0] == found[1] == found[2]
    assert replace(found[0], cuts=()) == replace(whole, cuts=())
    (folder,) = tmp_path.glob("aerowire-captures-*")
    assert not list(folder.glob("*.slice"))


def test_a_slice_whose_maker_died_is_made_again(build: SimpleNamespace, tmp_path: Path) -> None:
    path = mixed(build, tmp_path / "capture.pcap", 1)
    folder = tmp_path / "shared"
    folder.mkdir()
    builder = SharedIndexBuilder(folder, "mark", str(path), SPACING)
    builder.help(tmp_path / "absent")
    expected = builder.result()
    assert expected is not None
    next(folder.glob("*.slice")).unlink()
    (folder / "mark.0.partial").write_text('{"packets": 1')
    assert builder.result() is None
    builder.help(tmp_path / "absent")
    assert builder.result() == expected
    builder.clear()
    assert not list(folder.glob("*.slice"))


def test_a_slice_that_is_made_when_the_index_is_there_already_does_not_stay(build: SimpleNamespace, tmp_path: Path) -> None:
    path = mixed(build, tmp_path / "capture.pcap", 1)
    whole = index.find_or_build(path)
    (folder,) = tmp_path.glob("aerowire-captures-*")
    # As by a process that saw neither the index, which was not written yet, nor this slice, which was removed right behind that.
    (folder / f"{whole.fingerprint}.0.slice").write_text("null")
    assert index._made_together(str(path), whole.fingerprint, folder / f"{whole.fingerprint}{index.SUFFIX}") == whole
    assert not list(folder.glob("*.slice"))


def test_damage_and_doubt_are_left_to_one_pass(build: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = mixed(build, tmp_path / "capture.pcap", 2)
    data = bytearray(path.read_bytes())
    place = index.build(path).cuts[5].position
    data[place + 8 : place + 12] = b"\xff\xff\xff\x7f"
    path.write_bytes(data)
    assert index.find_or_build(path) == index.build(path)
    assert index.find_or_build(path).is_damaged
    monkeypatch.setattr("aerowire.pcap.frames.evidence.HISTORY_MAX", 3)
    assert look(str(path), 0, path.stat().st_size, SPACING) is None
