"""A process that replays a log once, for `aerowire cluster replay-check`: each message with its outputs is a line of JSON on its output.

    python -m aerowire.tools.cluster.replay_process '{"service": ..., ...}'

What the service prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.base.errors import AerowireError

if TYPE_CHECKING:
    from aerowire.cluster.replay.log_replay import ReplayedMessage

_OUTPUT, _ERRORS = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayTask:
    """Arguments of a replay. `snapshot` is the recording of the snapshot to start from, None for the beginning of the log."""

    service: str
    service_id: int
    member_id: int
    cluster_dir: str
    archive_dir: str
    snapshot: int | None
    end_position: int
    clock_shift_s: int
    ballast: int

    def encode(self) -> str:
        """Return the task as the argument of its process."""
        return json.dumps(asdict(self))


def encode_message(message: ReplayedMessage) -> bytes:
    """Return a message as a line: the position comes first."""
    outputs = [[one.kind, one.subject, one.data.hex()] for one in message.outputs]
    return json.dumps([message.position, message.template, message.session_id, message.correlation_id, outputs]).encode() + b"\n"


def decode_message(line: bytes) -> ReplayedMessage | str:
    """Return the message of a line, or the error that has ended the replay."""
    from aerowire.cluster.replay.log_replay import ReplayedMessage
    from aerowire.cluster.replay.outputs import Output

    found = json.loads(line)
    if isinstance(found, str):
        return found
    position, template, session_id, correlation_id, outputs = found
    noted = tuple(Output(kind, subject, bytes.fromhex(data)) for kind, subject, data in outputs)
    return ReplayedMessage(position, template, session_id, correlation_id, noted)


def main(argument: str) -> int:
    """Replay; return 0 at the end of the log, 1 if an error has ended the replay before."""
    task = ReplayTask(**json.loads(argument))
    lines = os.fdopen(os.dup(_OUTPUT), "wb")
    os.dup2(_ERRORS, _OUTPUT)
    with suppress(BrokenPipeError), lines:  # the command has seen enough
        try:
            for message in _replay(task):
                lines.write(encode_message(message))
        except AerowireError as error:
            lines.write(json.dumps(str(error)).encode() + b"\n")
            return 1
        except (Exception, SystemExit) as error:
            lines.write(json.dumps(f"the service has ended the replay: {type(error).__name__}: {error}").encode() + b"\n")
            return 1
    return 0


def _replay(task: ReplayTask) -> Iterator[ReplayedMessage]:
    from aerowire.tools.cluster.shifted_clock import shift_clocks

    # Objects that stay: those of the service lie at other addresses than in the other process, whatever the system does.
    ballast: list[Any] = [object() for _ in range(task.ballast)]
    # BEFORE the service is imported, which keeps what it imports by name.
    shift_clocks(task.clock_shift_s)
    from aerowire.cluster.replay.log_replay import LogReplay
    from aerowire.cluster.replay.member_log import open_member_log
    from aerowire.system.ports import Ports

    ports = Ports.system()
    log = open_member_log(ports.files, Path(task.cluster_dir), Path(task.archive_dir), task.service_id)
    snapshot = next((one for one in log.snapshots if one.recording_id == task.snapshot), None)
    yield from LogReplay(log, task.service, ports, service_id=task.service_id, member_id=task.member_id).run(snapshot, task.end_position)
    ballast.clear()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
