"""A whole driver and a real client in one thread: virtual time, a network in memory, hostile sockets on it, and streams of others.

The driver is the one that users run, in INVOKER mode; its files are real ones, which the client maps.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from aerowire.base.ports import DatagramBatch, DatagramPort
from aerowire.client import Aeron
from aerowire.conformance.accepted.steps import Step
from aerowire.conformance.accepted.targets import ReceiveTarget, ResolverTarget, SendTarget, Target
from aerowire.driver import MediaDriver
from aerowire.driver.context import Context
from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.network import SimulatedNetwork, SimulatedPort
from aerowire.system.clock import ManualClock
from aerowire.system.interfaces import InterfaceAddress
from aerowire.system.ports import Ports, SocketSpec
from aerowire.system.random import SeededRandom
from tests.support.waiting import epoch_ms

HOST = "127.0.0.1"
MS = 1_000_000
TERM = "term-length=64k"
# Addresses of the driver's endpoints, and of the hostile receivers that publications send to.
RECEIVE, RECEIVE_OTHER, PATH_A, PATH_B, CONTROL, RESOLVER = 40_001, 40_002, 40_003, 40_004, 40_005, 40_006
# A multicast group: data goes to the odd address, answers go to the one behind it.
GROUP, GROUP_ANSWERS, GROUP_PORT = "224.20.30.39", "224.20.30.40", 40_007
RESPONSE = 40_008
# An endpoint that writes the time of arrival into what it receives, and whose streams do without what is lost.
STAMPED = 40_009
HOSTILE_RECEIVER, HOSTILE_RECEIVERS, HOSTILE_DESTINATIONS, HOSTILE_RESPONDER = 41_001, 41_002, 41_010, 41_020
HOSTILE_STREAMS = (1001, 1002, 1003, 1004)
OWN_STREAM, OTHER_STREAM, MULTI_STREAM, GROUP_STREAM, LOSSY_STREAM = 2001, 2002, 1101, 1102, 1201
FIRST_SESSION = 10_000
LONGEST_STEP_NS = 20 * MS
# Datagrams that are taken from a socket at one time.
BATCH = 64

OPTIONS: dict[str, Any] = {
    "environ": {},
    "threading_mode": "INVOKER",
    "term_buffer_length": 64 * 1024,
    "term_buffer_sparse_file": True,
    "image_liveness_timeout_ns": "1s",
    "publication_linger_timeout_ns": "500ms",
    "publication_connection_timeout_ns": "2s",
    "client_liveness_timeout_ns": "60s",
    "publication_unblock_timeout_ns": "70s",
    "untethered_window_limit_timeout_ns": "300ms",
    "untethered_resting_timeout_ns": "600ms",
    "timer_interval_ns": "100ms",
    "counters_free_to_reuse_timeout_ns": 0,
    "driver_resolver_name": "fuzzed",
    "driver_resolver_interface": f"{HOST}:{RESOLVER}",
    "dir_delete_on_start": True,
    "dir_delete_on_shutdown": True,
}


# Cycles in a step of time, at most: a hostile datagram may give the driver work for good.
CYCLES_MAX = 64

# What some drivers do to the frames of all streams, in both directions.
IMPAIRED: dict[str, Any] = {
    f"debug_{way}_{effect}_rate": rate
    for way in ("receive_data", "receive_control", "send_data", "send_control")
    for effect, rate in (("loss", 0.02), ("duplicate", 0.02), ("reorder", 0.02))
}


class World:
    """Driver, client, network and clock; `send` puts a step on the wire, `work` lets everybody do what is due."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.clock = ManualClock(now_ns=1_000_000_000, epoch_ms=epoch_ms())
        self.network = SimulatedNetwork(self.clock, seed=seed)
        self.network.links.set(HOST, HOST, LinkFaults(latency_ns=0))
        self.sent = 0
        # Bytes by target: those that hostile sockets sent, and those that came back to them.
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.errors: list[BaseException] = []
        ports = replace(
            Ports.system(),
            clock=self.clock,
            random=SeededRandom(seed),
            open_socket=self._open_socket,
            resolver=lambda name: HOST if name == "localhost" else None,
            interfaces=lambda: [InterfaceAddress("lo", 1, HOST)],
        )
        options = dict(OPTIONS)
        self.capture: Path | None = None
        if seed % 2:
            # Every other driver notes all that it does, and keeps every datagram.
            self.capture = directory.with_name("datagrams.pcap" if seed % 3 else "datagrams.pcapng")
            options |= {"event_log": "all", "capture": self.capture}
        if seed % 4 > 1:
            options |= IMPAIRED | {name.replace("_rate", "_seed"): seed & 0x7FFFFFFF for name in IMPAIRED}
        self.driver = MediaDriver.launch(Context(aeron_dir=str(directory), **options), ports=ports)
        self.aeron = Aeron.connect(
            str(directory),
            use_conductor_agent_invoker=True,
            driver_agent_invoker=self.driver.invoker,
            clock=self.clock,
            client_lock=contextlib.nullcontext(),
            error_handler=self.errors.append,
        )
        self._sockets: dict[tuple[str, int], SimulatedPort] = {}
        self._batch = DatagramBatch(BATCH)
        self._addresses: dict[str, tuple[str, int] | None] = {}

    def close(self) -> None:
        """End client and driver."""
        self.aeron.close()
        self.driver.close()

    def attach(self, target: Target) -> None:
        """Open the hostile sockets of a target."""
        if isinstance(target, SendTarget):
            base = {
                "one": HOSTILE_RECEIVER,
                "many": HOSTILE_RECEIVERS,
                "listed": HOSTILE_DESTINATIONS,
                "request": HOSTILE_RESPONDER,
            }[target.name]
            for index in range(target.receivers):
                self._sockets[target.name, index] = self.network.open_port((HOST, base + index))
            self._addresses[target.name] = (HOST, CONTROL) if target.name == "many" else None
            return
        ports = {"receive": RECEIVE, "path-a": PATH_A, "path-b": PATH_B, "resolver": RESOLVER, "group": GROUP_PORT, "stamped": STAMPED}
        is_group = target.name == "group"
        for index in range(target.senders):
            self._sockets[target.name, index] = self.network.open_port((HOST, 0), None, (GROUP_ANSWERS, GROUP_PORT) if is_group else None)
        self._addresses[target.name] = (GROUP if is_group else HOST, ports[target.name])

    def send(self, step: Step) -> None:
        """Send a step's datagram, or let its time pass."""
        if step.pause_ns:
            self.advance(step.pause_ns)
            return
        address = self._addresses[step.target]
        if address is not None:
            self._sockets[step.target, step.sender].send_datagrams([(step.payload, address)])
            self.sent += 1
            self.asked[step.target] += len(step.payload)

    def received(self) -> list[tuple[str, bytes]]:
        """Return what the driver has sent to the hostile sockets."""
        found = []
        for (name, _), port in self._sockets.items():
            while arrived := port.receive_datagrams(BATCH, self._batch):
                for payload, source, _ in arrived:
                    found.append((name, payload))
                    self.answered[name] += len(payload)
                    if self._addresses[name] is None:
                        self._addresses[name] = source
                if len(arrived) < BATCH:
                    break
        return found

    def work(self) -> int:
        """Run one duty cycle of driver and client."""
        return self.driver.invoker.invoke() + self.aeron.invoke()

    def advance(self, duration_ns: int) -> None:
        """Let time pass in steps that no timeout of driver or client is shorter than."""
        while duration_ns > 0:
            step = min(duration_ns, LONGEST_STEP_NS)
            self.clock.advance(step)
            duration_ns -= step
            # A driver reads a few datagrams of a socket in a cycle: those that wait would be read in steps of time, past time-outs.
            for _ in range(CYCLES_MAX):
                if not self.work():
                    break
        # An image that was asked for is made in one cycle and gets data in the next.
        self.work()

    def _open_socket(self, spec: SocketSpec) -> DatagramPort:
        peer = None if spec.connect is None else (spec.connect.host, spec.connect.port)
        host = HOST if spec.bind.host in ("0.0.0.0", "::") else spec.bind.host
        if spec.group is None:
            return self.network.open_port((host, spec.bind.port), peer)
        return self.network.open_port((HOST, 0), peer, (spec.group.host, spec.group.port))


def targets() -> list[Target]:
    """Return everything hostile datagrams are sent to."""
    return [
        ReceiveTarget("receive", (*HOSTILE_STREAMS, OWN_STREAM), FIRST_SESSION, senders=3),
        ReceiveTarget("path-a", (MULTI_STREAM,), FIRST_SESSION, weight=2),
        ReceiveTarget("path-b", (MULTI_STREAM,), FIRST_SESSION, weight=2),
        ReceiveTarget("group", (GROUP_STREAM,), FIRST_SESSION, weight=2),
        ReceiveTarget("stamped", (LOSSY_STREAM,), FIRST_SESSION, weight=3),
        SendTarget("one", 21, 3001, 0, 65536, 1408),
        SendTarget("many", 22, 3002, 2**31 - 1, 65536, 1408, receivers=3, group_tag=4711),
        SendTarget("listed", 23, 3003, -1, 65536, 1408, receivers=2),
        SendTarget("request", 24, 3004, 2**31 - 1, 65536, 1408),
        ResolverTarget("resolver"),
    ]
