"""One member of our own in a process: driver, archive, consensus module, and container with an echo unless properties name an extension.

    python -m tests.interop.cluster.member_process -Daeron.dir=... -Daeron.cluster.member.id=0 ...

The properties are those of ClusterNode.java. It writes to standard output that it has started, each role of its service, and the service's
numbers when a message asks for them.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from struct import Struct

from aerowire.archive import Archive, ArchiveContext
from aerowire.base.options import parse_definitions
from aerowire.client import ExclusivePublication, Header, Image
from aerowire.cluster.module.consensus_module import ConsensusModule
from aerowire.cluster.module.context import ConsensusModuleContext
from aerowire.cluster.services import ClientSession, Cluster, ClusteredService, ClusteredServiceContainer
from aerowire.codecs.flyweights.cnc import ClusterRole
from aerowire.driver import Context, MediaDriver

_NUMBER = Struct("<q")
# How long a message is offered: a client on a busy machine may read late, and one that has gone never reads.
SAY_LIMIT_S = 2.0


class Echo(ClusteredService):
    """Says "opened" to each session that opens, keeps numbers, and answers each message with itself, as the service of ClusterNode.java.

    "principal" is answered with the session's principal, and "close" closes the session.
    """

    def __init__(self) -> None:
        self._numbers: list[int] = []

    def on_start(self, cluster: Cluster, snapshot_image: Image | None) -> None:
        self._cluster = cluster
        while snapshot_image is not None and not snapshot_image.is_end_of_stream:
            snapshot_image.poll(self._load, 10)
            cluster.idle_strategy.idle()

    def on_session_open(self, session: ClientSession, _at: int) -> None:
        self._say(session, b"opened")

    def on_session_message(self, session: ClientSession | None, message: bytes, _at: int) -> None:
        if len(message) == _NUMBER.size:
            self._numbers += _NUMBER.unpack(message)
        elif message == b"runs":
            tell("runs", runs=" ".join(runs_of(self._numbers)))
        if session is None:
            return
        if message == b"close":
            session.close()
        elif message == b"principal":
            self._say(session, session.encoded_principal)
        else:
            self._say(session, message)

    def on_take_snapshot(self, publication: ExclusivePublication) -> None:
        for number in self._numbers:
            while publication.offer(_NUMBER.pack(number)) < 0:
                self._cluster.idle_strategy.idle()

    def on_role_change(self, role: ClusterRole) -> None:
        tell("role", role_name=role.name)

    def _load(self, buffer: memoryview, offset: int, _length: int, _header: Header) -> None:
        self._numbers += _NUMBER.unpack_from(buffer, offset)

    def _say(self, session: ClientSession, message: bytes) -> None:
        deadline = time.monotonic() + SAY_LIMIT_S
        while session.offer(message) < 0 and time.monotonic() < deadline:
            self._cluster.idle_strategy.idle()


def runs_of(numbers: Sequence[int]) -> Iterator[str]:
    """Yield each run of consecutive numbers by its first and last one."""
    begin = 0
    for end in range(1, len(numbers) + 1):
        if end == len(numbers) or numbers[end] != numbers[end - 1] + 1:
            yield f"{numbers[begin]}-{numbers[end - 1]}"
            begin = end


def tell(event: str, **fields: object) -> None:
    """Write an event to standard output."""
    print(json.dumps({"event": event, **fields}), flush=True)


def main() -> None:
    """Run a member until it ends, or is told to."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    properties = parse_definitions(argument.removeprefix("-D") for argument in sys.argv[1:])
    with MediaDriver.launch(Context(properties=properties)) as driver:
        aeron_dir = driver.aeron_dir
        with Archive.launch(ArchiveContext(aeron_dir=aeron_dir, properties=properties)):
            context = ConsensusModuleContext(aeron_dir=aeron_dir, properties=properties, termination_hook=ended.set)
            with ConsensusModule.launch(context), ExitStack() as services:
                if context.service_count:
                    services.enter_context(
                        ClusteredServiceContainer.launch(Echo, aeron_dir=aeron_dir, properties=properties, termination_hook=ended.set)
                    )
                tell("started", member=context.cluster_member_id)
                while not ended.wait(0.05):
                    continue


if __name__ == "__main__":
    main()
