"""Each loss on its own: literal frames in, losses out; sums that agree with the summary's; the command."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aerowire.codecs.flyweights.transport import DataHeaderEncoder, NakEncoder, SetupEncoder
from aerowire.pcap.analysis.loss import Loss
from aerowire.pcap.analysis.summary import losses_of, summarise
from aerowire.pcap.commands.shared import DONE, FINDING, UNUSABLE
from aerowire.tools.main import main

CAPTURES = Path(__file__).parent.parent.parent / "data" / "captures"
S = 1_000_000_000
SETUP = SetupEncoder.encode(session_id=7, stream_id=1001, initial_term_id=3, active_term_id=3, term_length=65536, mtu=1408)


def nak(offset: int, length: int) -> bytes:
    return NakEncoder.encode(session_id=7, stream_id=1001, term_id=3, term_offset=offset, length=length)


def heartbeat(offset: int) -> bytes:
    return DataHeaderEncoder.encode(frame_length=0, session_id=7, stream_id=1001, term_id=3, term_offset=offset)


@pytest.fixture
def found(build: SimpleNamespace, tmp_path: Path) -> Any:
    """Make a capture of datagrams, one a second, an `x` before those that induced loss dropped, and return its losses."""

    def make(*datagrams: bytes | tuple[str, bytes]) -> list[Loss]:
        packets = []
        for datagram in datagrams:
            mark, data = datagram if isinstance(datagram, tuple) else ("", datagram)
            ends = (build.RECEIVER, build.SENDER) if data[6] == 2 else (build.SENDER, build.RECEIVER)
            packets.append(build.ethernet(build.ip4(data, *ends), source=bytes.fromhex("02000000000d" if mark else "020000000001")))
        path = tmp_path / "stream.pcap"
        path.write_bytes(build.classic(packets))
        return losses_of(path)[0]

    return make


@pytest.fixture
def data(build: SimpleNamespace) -> Any:
    """A frame that takes 64 bytes of its term."""
    return lambda offset: build.data_frame(offset, b"x" * 32)


def seen(loss: Loss) -> tuple[Any, ...]:
    """Range, packet, NAKs, and the seconds until the first NAK and until it was whole."""
    waited = [None if ts is None else round((ts - loss.shown_ts_ns) / S) for ts in (loss.first_nak_ts_ns, loss.recovered_ts_ns)]
    return loss.start, loss.end, loss.packet_index, loss.naks, *waited


def test_a_loss_is_asked_for_and_recovered(found: Any, data: Any) -> None:
    losses = found(SETUP, data(0), data(128), nak(64, 64), nak(64, 64), data(64), nak(64, 64))
    assert [seen(loss) for loss in losses] == [(64, 128, 2, 2, 1, 3)]
    assert (losses[0].source, losses[0].destination, losses[0].recovered_packet_index) == ("10.0.0.1:40001", "10.0.0.2:40002", 5)


def test_a_loss_of_several_frames_is_whole_with_the_last_of_them(found: Any, data: Any) -> None:
    losses = found(SETUP, data(0), data(256), data(128), nak(64, 192), data(192), data(128), data(64), data(64))
    assert [seen(loss) for loss in losses] == [(64, 256, 2, 1, 2, 5)]


def test_what_never_came_is_never_recovered_and_a_heartbeat_shows_it(found: Any, data: Any) -> None:
    losses = found(SETUP, data(0), data(128), ("x", data(64)), heartbeat(320), nak(192, 128), data(192))
    assert [seen(loss) for loss in losses] == [(64, 128, 2, 0, None, None), (192, 320, 4, 1, 1, None)]


def test_a_frame_that_was_overtaken_is_a_loss_that_nobody_asked_for(found: Any, data: Any) -> None:
    assert [seen(loss) for loss in found(SETUP, data(0), data(128), data(64))] == [(64, 128, 2, 0, None, 1)]
    assert found(SETUP, data(0), data(64), data(64)) == []


def test_agrees_with_a_dumb_twin(found: Any, data: Any, seed: int) -> None:
    rng = random.Random(seed)
    offsets = [64 * rng.randrange(40) for _ in range(120)]
    losses = found(SETUP, *map(data, offsets))
    expected, highest = [], offsets[0] + 64
    for place, offset in enumerate(offsets):
        if offset > highest:
            missing = set(range(highest, offset, 64))
            whole = next((at for at in range(place, len(offsets) + 1) if missing <= set(offsets[place:at])), None)
            expected.append((highest, offset, place + 1, 0, None, None if whole is None else whole - 1 - place))
        highest = max(highest, offset + 64)
    assert [seen(loss) for loss in losses] == expected, f"seed {seed}"


def test_counts_naks_by_blocks_as_one_by_one(found: Any, data: Any, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aerowire.pcap.analysis.loss.BLOCK_LENGTH", 4)
    rng = random.Random(seed)
    frames = [
        ("nak", rng.randrange(60), rng.randrange(1, 30)) if rng.random() < 0.6 else ("data", rng.randrange(60), 1) for _ in range(150)
    ]
    losses = found(SETUP, data(0), *(nak(64 * at, 64 * count) if kind == "nak" else data(64 * at) for kind, at, count in frames))
    last_data = max(place for place, (kind, *_) in enumerate(frames, 2) if kind == "data")
    for loss in losses:
        last = last_data if loss.recovered_packet_index is None else loss.recovered_packet_index
        asking = [
            place
            for place, (kind, at, count) in enumerate(frames, 2)
            if kind == "nak" and loss.packet_index < place <= last and 64 * at < loss.end and 64 * (at + count) > loss.start
        ]
        first = round((loss.first_nak_ts_ns - loss.shown_ts_ns) / S) + loss.packet_index if loss.first_nak_ts_ns is not None else None
        assert (loss.naks, first) == (len(asking), asking[0] if asking else None), f"seed {seed}"
    assert sum(loss.naks for loss in losses) > 10


def test_one_hole_of_many_pieces_costs_a_step_for_each(build: SimpleNamespace, tmp_path: Path) -> None:
    count = 50_000
    frames = [build.data_frame(offset, b"x" * 32) for offset in (0, 128 * count, *range(64, 128 * count, 128))]
    setup = SetupEncoder.encode(session_id=7, stream_id=1001, initial_term_id=3, active_term_id=3, term_length=1 << 30, mtu=1408)
    path = tmp_path / "hole.pcap"
    path.write_bytes(build.classic([build.ethernet(build.ip4(data, build.SENDER, build.RECEIVER)) for data in (setup, *frames)]))
    assert [(loss.start, loss.end, loss.recovered_ts_ns) for loss in losses_of(path)[0]] == [(64, 128 * count, None)]


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap")), ids=lambda path: path.stem)
def test_sums_agree_with_the_summary(path: Path) -> None:
    losses, _ = losses_of(path)
    report = summarise(path)
    assert (len(losses), sum(loss.length for loss in losses)) == (report["gaps"], report["gap_bytes"])
    never = [loss for loss in losses if loss.recovered_ts_ns is None]
    assert bool(never) == bool(report["unrecovered_bytes"])
    assert sum(loss.length for loss in never) >= report["unrecovered_bytes"]
    assert [loss.packet_index for loss in losses] == sorted(loss.packet_index for loss in losses)


def test_the_command_prints_a_line_for_each_and_sums(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = CAPTURES / "loss_data_sender_side.pcap"
    losses, _ = losses_of(path)
    assert main(["pcap", "loss", str(path), "--limit", "3"]) == DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["packet", "ts_ns", "session"]
    assert [line.split()[0] for line in lines[1:4]] == [str(loss.packet_index) for loss in losses[:3]]
    assert lines[4] == f"... {len(losses) - 3} more (--limit 0 shows all)"
    assert lines[5].startswith(f"{len(losses)} losses of ")
    assert main(["pcap", "loss", str(path), "--limit", "0", "--json"]) == DONE
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["start"] for row in rows] == [loss.start for loss in losses]
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(path.read_bytes()[:-7])
    assert main(["pcap", "loss", str(cut)]) == FINDING
    assert main(["pcap", "loss", str(tmp_path / "absent")]) == UNUSABLE


@pytest.mark.parametrize("command", ["loss", "frames"])
@pytest.mark.parametrize("limit", ["-1", "1e3", "", str(1 << 63)])
def test_a_limit_that_no_table_has_is_refused(command: str, limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["pcap", command, str(CAPTURES / "loss_data_sender_side.pcap"), "--limit", limit])
    assert f"expected a whole number from 0 to {(1 << 63) - 1}, found {limit}" in capsys.readouterr().err


def test_a_command_without_standard_input_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert main(["pcap", "summary", "-"]) == UNUSABLE
    assert capsys.readouterr().err == "aerowire pcap: -: cannot be opened: there is no standard input\n"
