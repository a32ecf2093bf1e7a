"""How a command reaches a running Archive: by the mark file in its directory, or by its control channel."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.tools.archive.archive_command import add_parser, running_mark
from aerowire.tools.arguments import add_directory_arguments, seconds, stream_id
from aerowire.tools.directory_command import Subparsers

if TYPE_CHECKING:
    from aerowire.archive import AeronArchive, RecordingDescriptor
    from aerowire.archive.files.mark_header import MarkHeader

_CHANNEL_SCHEME = "aeron:"
_TIMEOUT_S = 10.0
_HERE = ("localhost", "127.", "[::1]")
_ANSWERS_HERE = "aeron:udp?endpoint=localhost:0"
_CODES = "Exit codes: 0 {done}; 1 {finding}; 2 usage, or the archive cannot be reached, or refuses."
_WHERE = """\
ARCHIVE is the directory of an archive of this machine, whose mark file tells its channel and its driver, or the control channel of any
archive. With a channel the driver is that of --dir, and answers come by --response-channel."""


def add_running_command(
    subparsers: Subparsers[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    purpose: str,
    description: str,
    examples: Iterable[str],
    done: str = "done",
    finding: str = "interrupted before it was done",
    archive: str = "directory or control channel of a running archive",
) -> argparse.ArgumentParser:
    """Add `archive NAME` with ARCHIVE, which may be what `archive` says, and what reaches it; return the parser for the rest."""
    notes = f"{_WHERE}\n\n{_CODES.format(done=done, finding=finding)}"
    parser = add_parser(subparsers, name, run, purpose=purpose, description=description, examples=examples, notes=notes)
    parser.add_argument("archive", metavar="ARCHIVE", help=archive)
    add_directory_arguments(parser, otherwise="the archive's own, or the user's in shared memory")
    parser.add_argument("--control-stream", metavar="STREAM", type=stream_id, help="stream of a control channel (default: 10)")
    parser.add_argument("--response-channel", metavar="CHANNEL", help="channel of the archive's answers (default: one of this host)")
    parser.add_argument("--credentials", metavar="FILE", help="send the bytes of this file as credentials")
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=seconds, default=_TIMEOUT_S, help=f"wait so long for an answer (default: {_TIMEOUT_S:g})"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


@dataclass(frozen=True, slots=True)
class ArchivePlace:
    """Where an Archive takes requests, and where it answers. `aeron_dir` is its driver's; None where its directory is not known."""

    channel: str
    stream_id: int | None
    response_channel: str
    aeron_dir: str | None


def is_channel(archive: str) -> bool:
    """Return whether an argument names an Archive by its control channel."""
    return archive.startswith(_CHANNEL_SCHEME)


def place_of(archive: str) -> ArchivePlace:
    """Return where the Archive of a directory or a control channel takes requests. Raises ConfigurationError where none runs."""
    from aerowire.base.channel_uri import IPC_CHANNEL, ChannelUri

    if is_channel(archive):
        response = IPC_CHANNEL if ChannelUri.parse(archive).is_ipc else _ANSWERS_HERE
        return ArchivePlace(archive, None, response, None)
    mark = mark_of_running(archive)
    return ArchivePlace(mark.local_control_channel, mark.local_control_stream_id, IPC_CHANNEL, mark.aeron_directory)


def mark_of_running(directory: str) -> MarkHeader:
    """Return the header of the mark file of the Archive that runs in a directory. Raises ConfigurationError where none runs."""
    from aerowire.base.errors import ConfigurationError

    mark = running_mark(Path(directory))
    if mark is None:
        raise ConfigurationError(
            "no archive runs in the directory",
            where=directory,
            expected="the directory or the control channel of a running archive",
            hint="start it by: aerowire archive start --archive-dir DIR",
        )
    return mark


def connect(arguments: argparse.Namespace, **options: Any) -> AeronArchive:
    """Connect to the Archive that the arguments name. Raises what finding it and connecting to it raise."""
    from aerowire.archive import AeronArchive, FixedCredentials
    from aerowire.base.errors import ConfigurationError
    from aerowire.codecs.tables.options import OPTIONS
    from aerowire.system.bus_error import explain_bus_errors
    from aerowire.tools.arguments import properties_of
    from aerowire.tools.exit_codes import USAGE

    explain_bus_errors(USAGE)
    place = place_of(arguments.archive)
    response = arguments.response_channel or place.response_channel
    if arguments.response_channel is None and response == _ANSWERS_HERE and not _is_here(place.channel):
        raise ConfigurationError(
            "the archive is on another host, and needs an address of this one for its answers",
            where=place.channel,
            expected="--response-channel",
            hint="give it as aeron:udp?endpoint=HOST:0, with an address by which the archive reaches this host",
        )
    credentials = b"" if arguments.credentials is None else Path(arguments.credentials).read_bytes().rstrip(b"\r\n")
    properties = properties_of(arguments)
    return AeronArchive.connect(
        aeron_dir=properties.pop(OPTIONS["dir"].property, None) or place.aeron_dir,
        control_request_channel=place.channel,
        control_request_stream_id=arguments.control_stream if arguments.control_stream is not None else place.stream_id,
        control_response_channel=response,
        message_timeout_ns=max(int(arguments.timeout * 1e9), 1),
        credentials_supplier=FixedCredentials(credentials),
        client_name="aerowire archive",
        properties=properties,
        **options,
    )


def descriptor_of(archive: AeronArchive, recording_id: int) -> RecordingDescriptor:
    """Return the descriptor of a recording. Raises ArchiveError where there is none."""
    from aerowire.base.errors import ArchiveError
    from aerowire.codecs.tables.archive_errors import ArchiveErrorCode

    found = archive.list_recording(recording_id)
    if not found:
        raise ArchiveError(
            "no such recording",
            where=archive.context.control_request_channel,
            expected="one that `aerowire archive list` shows",
            actual=f"recording {recording_id}",
            error_code=ArchiveErrorCode.UNKNOWN_RECORDING,
            recording_id=recording_id,
        )
    return found[0]


def _is_here(channel: str) -> bool:
    from aerowire.base.channel_uri import ChannelUri

    uri = ChannelUri.parse(channel)
    return (uri.get("endpoint") or "").startswith(_HERE)
