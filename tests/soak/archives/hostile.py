"""Hostile clients of an archive: messages that are none, and valid requests with extreme values, in their thousands.

Beside them a client records and replays. Its requests are answered in time and its streams are whole; the archive lives, says nothing on
standard error, and holds no more memory at the end than near the start.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

from aerowire.archive import AeronArchive, ReplayParams
from aerowire.archive.client.parameters import REPLAY_ALL_AND_STOP
from aerowire.base.errors import RegistrationError
from aerowire.client import Aeron, ExclusivePublication, FragmentAssembler
from aerowire.codecs.flyweights import archive
from aerowire.codecs.flyweights.archive import ControlResponseCode
from aerowire.codecs.tables.errors import ErrorCode
from tests.soak.archives.hostile_requests import HostileRequests
from tests.soak.archives.node import ArchiveNode, start_node
from tests.soak.bars import Part, Size
from tests.soak.transport.footprint import anonymous_bytes
from tests.support.hostile.values import IPC
from tests.support.processes import open_workshop
from tests.support.waiting import wait_until

MESSAGES = {Size.FULL: 10_000, Size.SMALL: 500}
PARTS = {Size.FULL: 10, Size.SMALL: 1}
FIRST_SEED = {Size.FULL: 3_100, Size.SMALL: 3_099}
CONTROL_STREAM_ID = 10
RESPONSE_STREAM_ID, UNREAD_STREAM_ID, HONEST_STREAM_ID, OWN_STREAM_ID = 501, 502, 601, 701
SESSIONS = 8
CONNECT_S = 5.0  # the archive gives up a session that it cannot answer after a second
ROUND = 100  # hostile messages between two looks at the honest client
ANSWER_S = 15.0  # on a machine that has much else to do
# Of the messages, those after which the archive has what it will keep: its error log, its tables, its imports.
WARM_SHARE = 0.4
GROWTH_BYTES_MAX = 12 << 20


class Honest:
    """A client whose sessions and streams nothing of this may touch."""

    def __init__(self, node: ArchiveNode, aeron: Aeron) -> None:
        self.aeron = aeron
        self.archive = AeronArchive.connect(aeron=aeron, control_request_channel="aeron:ipc", control_response_channel="aeron:ipc")
        self.publication = self.archive.add_recorded_exclusive_publication(f"{IPC}|alias=honest", HONEST_STREAM_ID)
        wait_until(lambda: self.archive.list_recordings_for_uri("honest", HONEST_STREAM_ID), "no recording")
        (found,) = self.archive.list_recordings_for_uri("honest", HONEST_STREAM_ID)
        self.recording_id = found.recording_id
        self.sent = 0
        self.longest_s = 0.0
        self._node = node

    def look(self) -> None:
        """Publish, and see that it is recorded and that requests are answered in time."""
        self._node.expect_alive()
        begun = time.monotonic()
        for _ in range(20):
            self.publication.send(self.sent.to_bytes(8, "little") * 8, timeout_ns="10s")
            self.sent += 1
        self.archive.await_recorded(self.recording_id, self.publication.position)
        assert self.archive.get_start_position(self.recording_id) == 0
        assert len(self.archive.list_recording(self.recording_id)) == 1
        self.longest_s = max(self.longest_s, time.monotonic() - begun)
        assert self.longest_s < ANSWER_S, self.longest_s

    def end(self) -> None:
        """Replay everything, and disconnect."""
        replay = self.archive.replay(self.recording_id, IPC, HONEST_STREAM_ID + 1, ReplayParams(length=REPLAY_ALL_AND_STOP))
        with replay:
            messages = replay.messages(timeout_ns="10s")
            for number in range(self.sent):
                assert next(messages) == number.to_bytes(8, "little") * 8
        self.publication.close()
        self.archive.close()


class Attacker:
    """A client that sends what is drawn.

    By its first publication come requests of sessions whose responses are read; by the second one bad requests to connect, and requests of
    sessions whose responses are not read, for which the archive ends it again and again.
    """

    def __init__(self, node: ArchiveNode, aeron: Aeron, requests: HostileRequests) -> None:
        self.aeron = aeron
        self.requests = requests
        self.node = node
        self.counts = {"answers": 0, "errors": 0, "sessions": 0, "publications": 0}
        self.responses = aeron.add_subscription(IPC, RESPONSE_STREAM_ID)
        self.unread = aeron.add_subscription(IPC, UNREAD_STREAM_ID)
        self._assembler = FragmentAssembler(self._on_response)
        self._served, self._doomed = self._new_publication(), self._new_publication()
        self.own = aeron.add_exclusive_publication(f"{IPC}|alias=own", OWN_STREAM_ID)

    def attack(self, count: int) -> None:
        """Send some messages of each kind."""
        dice, requests = self.requests.dice, self.requests
        for _ in range(count):
            if not requests.sessions or (len(requests.sessions) < SESSIONS and dice.random() < 0.1):
                self._connect()
            self._send(requests.request() if dice.random() < 0.6 else requests.message())
            if dice.random() < 0.02:
                self._send_doomed(requests.bad_connect() if dice.random() < 0.5 else requests.connect(UNREAD_STREAM_ID))
            if dice.random() < 0.1:
                self._work()
            if requests.sessions and dice.random() < 0.01:
                self._send(archive.CloseSessionRequest(control_session_id=requests.sessions.pop()).encode())

    def _connect(self) -> None:
        """Get a session whose responses are read; ask again where the archive ended the image while the request was in it."""
        before, asked = self.counts["sessions"], 0.0

        def is_there() -> bool:
            nonlocal asked
            if time.monotonic() - asked > CONNECT_S:
                self._send(self.requests.connect(RESPONSE_STREAM_ID))
                asked = time.monotonic()
            return self.counts["sessions"] > before

        wait_until(is_there, "no session", work=self._work)

    def _send(self, data: bytes) -> None:
        """Send a message; where the archive has ended the image of the publication, by another one."""

        def is_sent() -> bool:
            if not self._served.is_connected:
                self._served.close()
                self._served = self._new_publication()
                self.requests.sessions.clear()
            return self._served.offer(data) > 0

        wait_until(is_sent, "the archive takes no more requests", work=self._work)

    def _send_doomed(self, data: bytes) -> None:
        if not self._doomed.is_connected:
            self._doomed.close()
            self._doomed = self._new_publication()
        self._doomed.offer(data)

    def close(self) -> None:
        """Go without a word."""
        for one in (self._served, self._doomed, self.own, self.responses, self.unread):
            one.close()

    def _new_publication(self) -> ExclusivePublication:
        channel = self.requests.dice.choice(("aeron:ipc?term-length=1m", f"{self.node.control_channel}|term-length=1m"))
        added: list[ExclusivePublication] = []

        def is_added() -> bool:
            try:
                added.append(self.aeron.add_exclusive_publication(channel, CONTROL_STREAM_ID))
            except RegistrationError as error:  # the endpoint of the one before is still closing
                if error.error_code != ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
                    raise
            return bool(added)

        wait_until(is_added, "the driver adds no publication")
        (publication,) = added
        wait_until(lambda: publication.is_connected, "the archive does not listen")
        self.counts["publications"] += 1
        return publication

    def _work(self) -> None:
        self.node.expect_alive()
        self.responses.poll(self._assembler, 50)
        self.own.offer(bytes(500))

    def _on_response(self, buffer: memoryview, offset: int, length: int, _header: Any) -> None:
        data = buffer[offset : offset + length]
        if int.from_bytes(data[2:4], "little") != archive.ControlResponseDecoder.SBE_TEMPLATE_ID:
            return
        response = archive.ControlResponse.decode(data)
        self.counts["answers"] += 1
        self.counts["errors"] += response.code == ControlResponseCode.ERROR
        is_session = response.code == ControlResponseCode.OK and response.relevant_id == response.control_session_id
        if is_session and response.control_session_id not in self.requests.sessions:
            self.requests.sessions.append(response.control_session_id)
            self.counts["sessions"] += 1


def messages(count: int, seed: int, scratch: Path) -> str:
    with open_workshop(scratch) as workshop:
        node = start_node(workshop, {"connect_timeout_ns": "1s", "max_concurrent_recordings": 40})
        with Aeron.connect(node.aeron_dir) as aeron, Aeron.connect(node.aeron_dir) as other:
            honest = Honest(node, aeron)
            requests = HostileRequests(seed, node.control_channel)
            attacker = Attacker(node, other, requests)
            warm = 0
            for sent in range(0, count, ROUND):
                attacker.attack(ROUND)
                honest.look()
                own = honest.archive.list_recordings(0, 100)
                requests.recordings[4:] = [one.recording_id for one in own if one.recording_id != honest.recording_id]
                if warm == 0 and sent >= WARM_SHARE * count:
                    warm = anonymous_bytes(node.process.popen.pid)
            attacker.close()
            growth = anonymous_bytes(node.process.popen.pid) - warm
            honest.end()
        node.end()
    assert growth < GROWTH_BYTES_MAX, growth
    assert attacker.counts["sessions"] > 1, attacker.counts
    assert attacker.counts["errors"] > count // 20, attacker.counts
    said = ", ".join(f"{number} {name}" for name, number in attacker.counts.items())
    return f"{count} messages: {said}; {growth / 1e6:.1f} MB more, an honest round within {honest.longest_s:.2f} s"


def parts(size: Size) -> list[Part]:
    seeds = range(FIRST_SEED[size], FIRST_SEED[size] + PARTS[size])
    return [Part(f"messages-{seed}", seed, partial(messages, MESSAGES[size], seed)) for seed in seeds]
