"""Accepted datagrams over sockets to both drivers, with a client that reads in every way behind each: streams of others are whole."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack
from itertools import islice
from typing import Any

import pytest

from aerowire.conformance.accepted.generator import AcceptedGenerator
from aerowire.conformance.accepted.targets import ReceiveTarget
from tests.interop.harness import Bench, Side
from tests.support.processes import Process, free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

STREAM, FIRST_SESSION, SENDERS = 1001, 10_000, 3
STEPS = 4_000
# No more at once than a socket takes; the pauses let images be made.
BURST, BURST_PAUSE_S, PAUSE_MAX_S = 20, 0.003, 0.02
DATAGRAM_MAX = 65_536
START_S, END_S = 60.0, 90.0
PROPERTIES = {
    "aeron.image.liveness.timeout": "1s",
    "aeron.term.buffer.length": "65536",
    "aeron.term.buffer.sparse.file": "true",
    "aeron.timer.interval": "100ms",
    "aeron.dir.delete.on.start": "true",
}


def bombard(port: int, seed: int) -> int:
    """Send drawn datagrams to an endpoint, whose status messages say how far windows reach; return how many were sent."""
    generator = AcceptedGenerator(seed, [ReceiveTarget("receive", (STREAM,), FIRST_SESSION, senders=SENDERS)])
    sent = 0
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(SENDERS)]
        for sender in sockets:
            sender.bind(("127.0.0.1", 0))
            sender.setblocking(False)
        for step in islice(generator, STEPS):
            if step.pause_ns:
                time.sleep(min(step.pause_ns / 1e9, PAUSE_MAX_S))
                continue
            sockets[step.sender].sendto(step.payload, ("127.0.0.1", port))
            sent += 1
            if sent % BURST == 0:
                time.sleep(BURST_PAUSE_S)
                for sender in sockets:
                    hear(sender, generator)
    return sent


def hear(sender: socket.socket, generator: AcceptedGenerator) -> None:
    """Give the generator what a driver has answered."""
    for _ in range(1_000):
        try:
            generator.feed("receive", sender.recv(DATAGRAM_MAX))
        except BlockingIOError:
            return


def outcome_of(bench: Bench, side: Side, seed: int) -> Mapping[str, Any]:
    """Bombard a driver of that side and the client behind it; return what the client saw, with `whole` for its own streams."""
    driver = bench.driver(side, PROPERTIES)
    receive = free_port()
    # An official driver lets frames overlap, whose headers then name other places.
    prefix = ["env", "AEROWIRE_TEST_LENIENT=1"] if side == "official" else []
    client: Process = bench.peer("aerowire", "bombarded", driver, prefix, receive=receive, other=free_port(), stream=STREAM)
    client.event("ready", START_S)
    sent = bombard(receive, seed)
    assert client.popen.stdin is not None
    client.popen.stdin.close()
    outcome = client.outcome("bombarded", END_S)
    assert client.popen.wait(END_S) == 0, client.said()
    is_running = driver.process.popen.poll() is None
    print(f"{side}: seed {seed}, {sent} datagrams, {outcome}")
    return {**outcome, "whole": is_running and not outcome["finding"] and not outcome["ended"]}


def test_streams_of_others_are_whole_behind_ours_whatever_the_official_driver_does(bench: Bench, seed: int) -> None:
    drawn = seed % 1_000_000
    theirs = outcome_of(bench, "official", drawn)
    ours = outcome_of(bench, "aerowire", drawn)
    assert ours["whole"], (ours, theirs)
    # Datagrams that reach no image would prove nothing.
    for outcome in (ours, theirs):
        assert outcome["images"] > 10, outcome
        assert outcome["fragments"] > 100, outcome
