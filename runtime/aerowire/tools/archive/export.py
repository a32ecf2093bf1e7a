"""`aerowire archive export`: a recording as a capture file, for `aerowire pcap` and Wireshark.

Each recorded frame becomes a datagram, as its publisher would have sent it, behind one SETUP frame that describes the stream.
"""

from __future__ import annotations

import argparse
import ipaddress
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.tools.archive.archive_command import add_command, progress_bar, recording_id
from aerowire.tools.arguments import count_or_none
from aerowire.tools.directory_command import Subparsers, show, show_json, system_files

if TYPE_CHECKING:
    from aerowire.archive.files.recorded_frames import RecordedFrame
    from aerowire.archive.files.segments import Progress
    from aerowire.driver.media.capture import CaptureWriter
    from aerowire.recordings.catalog_entry import RecordingEntry
    from aerowire.system.clock import ManualClock

_Address = tuple[str, int]
# Of streams without an endpoint, such as those of IPC.
_SENDER, _RECEIVER = ("127.0.0.1", 40122), ("127.0.0.1", 40123)


def command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive export`."""
    parser = add_command(
        subparsers,
        "export",
        run,
        purpose="write a recording as a capture file, for aerowire pcap and Wireshark",
        description="Write the frames of a recording to a capture file, each as the datagram that its publisher would have sent: pcapng, "
        "or classic pcap for a name that ends in .pcap. An archive keeps no times of frames: they are spread evenly between start and end "
        "of the recording. A stream without an endpoint gets one of 127.0.0.1.",
        examples=(
            "aeron-archive 7 recording.pcapng && aerowire pcap summary recording.pcapng",
            "aeron-archive 7 part.pcap --from 131072 --until 262144",
        ),
        finding="the recording cannot be read up to its end: what is before is written",
    )
    parser.add_argument("recording_id", metavar="ID", type=recording_id, help="the recording")
    parser.add_argument("file", metavar="FILE", help="the capture file")
    parser.add_argument("--from", dest="start", metavar="POSITION", type=count_or_none, help="begin there (default: where it begins)")
    parser.add_argument("--until", metavar="POSITION", type=count_or_none, help="end there (default: where it ends)")
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it is there")
    parser.set_defaults(all=True)  # segment files, of which progress is shown


def run(arguments: argparse.Namespace) -> int:
    """Write a capture; returns 1 where the recording could not be read up to its end."""
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.tools.archive.archive_command import tell
    from aerowire.tools.exit_codes import DONE, FINDING

    with OfflineCatalog(system_files(), Path(arguments.directory)) as catalog, progress_bar("exporting", arguments) as progress:
        entry = catalog.entry(arguments.recording_id)
        export = _export(catalog.directory, entry, arguments, progress)
    if arguments.json:
        facts = {"recording_id": entry.recording_id, "file": arguments.file, "frames": export.frames}
        show_json(facts | {"from": export.start, "until": export.end, "problem": export.problem})
    else:
        show(f"{export.frames:,} frames, from {export.start:,} to {export.end:,}")
        if export.problem is not None:
            tell(export.problem)
    return DONE if export.problem is None else FINDING


@dataclass(slots=True)
class Export:
    """What was written: frames, the positions between which they are, and what ended them early."""

    frames: int
    start: int
    end: int
    problem: str | None = None


def _export(directory: Path, entry: RecordingEntry, arguments: argparse.Namespace, progress: Progress | None) -> Export:
    from aerowire.archive.files.recorded_frames import FramesBroken, recorded_frames
    from aerowire.driver.media.capture import CaptureWriter
    from aerowire.system.clock import ManualClock

    start = _checked_start(directory, entry, arguments)
    clock = ManualClock(epoch_ms=entry.start_timestamp_ms)
    writer = CaptureWriter(arguments.file, clock, overwrites=arguments.overwrite)
    datagrams = _Datagrams(entry, writer, clock)
    done = Export(0, start, start)
    try:
        for frame in recorded_frames(system_files(), directory, entry, start):
            if isinstance(frame, FramesBroken):
                done.problem = f"recording {entry.recording_id} cannot be read from position {frame.position} on: {frame.reason}"
                break
            if frame.position < start:
                continue
            if arguments.until is not None and frame.position >= arguments.until:
                break
            if not done.frames:
                done.start = frame.position
                datagrams.setup(frame)
            datagrams.frame(frame)
            done.frames, done.end = done.frames + 1, frame.next_position
            if progress is not None:
                progress(frame.next_position - frame.position)
        writer.flush()
    finally:
        writer.close()
    return done


def _checked_start(directory: Path, entry: RecordingEntry, arguments: argparse.Namespace) -> int:
    """Return where to begin. Raises ArchiveFileError, ConfigurationError, StorageError for what cannot be exported, or not there."""
    from aerowire.base.errors import ArchiveFileError, ConfigurationError, StorageError

    if entry.damage is not None:
        raise ArchiveFileError("the entry of the recording is damaged", where=directory, expected="a sound entry", actual=entry.damage)
    if not arguments.overwrite and Path(arguments.file).exists():
        raise StorageError(
            "the capture is there already", where=arguments.file, expected="a new file", hint="give another one, or --overwrite"
        )
    start: int = entry.start_position if arguments.start is None else arguments.start
    end = start if entry.is_active else entry.stop_position
    if not entry.start_position <= start <= max(end, entry.start_position):
        raise ConfigurationError(
            "the position is not in the recording",
            where="--from",
            expected=f"from {entry.start_position}" + ("" if entry.is_active else f" to {entry.stop_position}"),
            actual=start,
        )
    return start


class _Datagrams:
    """Writes frames of one recording as datagrams. Invariant: the clock's time never goes back."""

    def __init__(self, entry: RecordingEntry, writer: CaptureWriter, clock: ManualClock) -> None:
        self._entry = entry
        self._writer = writer
        self._clock = clock
        self._source = _address_of(entry.source_identity) or _SENDER
        self._target = _endpoint_of(entry.original_channel) or _RECEIVER
        if ":" in self._target[0] and ":" not in self._source[0]:
            self._source = ("::1", self._source[1])
        elif ":" in self._source[0] and ":" not in self._target[0]:
            self._source = _SENDER
        is_over = entry.stop_timestamp_ms >= 0 and not entry.is_active
        end_ms = entry.stop_timestamp_ms if is_over else time.time_ns() // 1_000_000
        self._duration_ms = max(end_ms - entry.start_timestamp_ms, 0)
        self._length = max(entry.stop_position - entry.start_position, 1)

    def setup(self, frame: RecordedFrame) -> None:
        """Write the SETUP frame of the stream, as it is at a frame."""
        from aerowire.codecs.flyweights.transport import SetupEncoder

        entry = self._entry
        self._add(
            frame.position,
            SetupEncoder.encode(
                term_offset=frame.term_offset,
                session_id=entry.session_id,
                stream_id=entry.stream_id,
                initial_term_id=entry.initial_term_id,
                active_term_id=entry.term_id_of(frame.position),
                term_length=entry.term_buffer_length,
                mtu=entry.mtu_length,
            ),
        )

    def frame(self, frame: RecordedFrame) -> None:
        """Write a recorded frame up to the next one, as senders do; of padding the header."""
        from aerowire.codecs.flyweights.transport import DataHeaderEncoder
        from aerowire.recordings.geometry import aligned_frame_length

        header = frame.header
        datagram = DataHeaderEncoder.encode(
            frame_length=header.frame_length,
            version=header.version,
            flags=header.flags,
            type=header.type,
            term_offset=header.term_offset,
            session_id=self._entry.session_id,  # in the recording a checksum may have its place
            stream_id=header.stream_id,
            term_id=header.term_id,
            reserved_value=header.reserved_value,
            payload=frame.payload,
        )
        self._add(frame.position, datagram.ljust(aligned_frame_length(len(datagram)), b"\0"))

    def _add(self, position: int, datagram: bytes) -> None:
        passed = min(position - self._entry.start_position, self._length) * self._duration_ms // self._length
        self._clock.set(now_ns=0, epoch_ms=self._entry.start_timestamp_ms + passed)
        self._writer.add(self._source, self._target, datagram)


def _endpoint_of(channel: str) -> _Address | None:
    """Return the endpoint of a channel, where it is an address and not a name."""
    from aerowire.base.channel_uri import ChannelUri
    from aerowire.base.errors import ChannelError

    try:
        endpoint = ChannelUri.parse(channel).get("endpoint")
    except ChannelError:
        return None
    return None if endpoint is None else _address_of(endpoint.replace("localhost", "127.0.0.1"))


def _address_of(text: str) -> _Address | None:
    host, _, port = text.rpartition(":")
    try:
        return str(ipaddress.ip_address(host.strip("[]").partition("%")[0])), int(port)
    except ValueError:
        return None
