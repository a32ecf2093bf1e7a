"""One member of our own in a process: driver, archive, consensus module, and container with an echo unless properties name an extension.

    python -m tests.interop.cluster.member_process -Daeron.dir=... -Daeron.cluster.member.id=0 ...

The properties are those of ClusterNode.java. It writes to standard output that it has started, and each role of its service.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from contextlib import ExitStack

from aerowire.archive import Archive, ArchiveContext
from aerowire.base.options import parse_definitions
from aerowire.client import Image
from aerowire.cluster.module.consensus_module import ConsensusModule
from aerowire.cluster.module.context import ConsensusModuleContext
from aerowire.cluster.services import ClientSession, Cluster, ClusteredService, ClusteredServiceContainer
from aerowire.codecs.flyweights.cnc import ClusterRole
from aerowire.driver import Context, MediaDriver


class Echo(ClusteredService):
    """Says "opened" to each session that opens, and answers each message with itself, as the service of ClusterNode.java.

    "principal" is answered with the session's principal, and "close" closes the session.
    """

    def __init__(self) -> None:
        self._applied = 0

    def on_start(self, cluster: Cluster, snapshot_image: Image | None) -> None:
        self._cluster = cluster
        while snapshot_image is not None and not snapshot_image.is_end_of_stream:
            snapshot_image.poll(lambda *_: None, 1)
            cluster.idle_strategy.idle()

    def on_session_open(self, session: ClientSession, _at: int) -> None:
        self._say(session, b"opened")

    def on_session_message(self, session: ClientSession | None, message: bytes, _at: int) -> None:
        self._applied += 1
        if session is None:
            return
        if message == b"close":
            session.close()
        elif message == b"principal":
            self._say(session, session.encoded_principal)
        else:
            self._say(session, message)

    def on_role_change(self, role: ClusterRole) -> None:
        tell("role", role_name=role.name)

    def _say(self, session: ClientSession, message: bytes) -> None:
        for _ in range(1_000):
            if session.offer(message) >= 0:
                return
            self._cluster.idle_strategy.idle()


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
