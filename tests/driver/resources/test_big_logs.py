"""Logs whose files take long to make or to free: other streams' commands do not wait for them, and nothing of them is left."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.errors import RegistrationError, StorageSpaceError
from aerowire.base.ports import RegionPort
from aerowire.client import Aeron
from aerowire.codecs.flyweights.transport import SetupEncoder
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver import MediaDriver
from aerowire.driver.resources.logs import _MAKING_MAX
from aerowire.ipc.cnc import CncFile
from aerowire.system.ports import Ports
from tests.support.waiting import wait_until

LIMIT_S = 20.0
BIG = "term-length=128k"  # what the slow disk is slow for
BIG_LENGTH = 3 * 128 * 1024


class SlowRegions(RegionPort):
    """The system's files, but those of big logs wait for `gate`, and may fail."""

    def __init__(self, real: RegionPort) -> None:
        self._real = real
        self.gate = threading.Event()
        self.error: Exception | None = None
        self.begun: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    @property
    def page_size(self) -> int:
        return self._real.page_size

    def create(self, path: Any, length: int, *, sparse: bool) -> Any:
        if not sparse and ".logbuffer" in str(path) and length > BIG_LENGTH:
            self.begun.append(str(path))
            assert self.gate.wait(LIMIT_S)
            if self.error is not None:
                raise self.error
        return self._real.create(path, length, sparse=sparse)

    def delete(self, path: Any) -> bool:
        return self._real.delete(path)

    def free_space(self, directory: Any) -> int:
        return self._real.free_space(directory)

    def exists(self, path: Any) -> bool:
        return self._real.exists(path)

    def map(self, path: Any, **options: Any) -> Any:
        return self._real.map(path, **options)


class Stage:
    """A threaded driver on a slow disk, and clients of it."""

    def __init__(self, directory: str, **options: Any) -> None:
        ports = Ports.system()
        self.disk = SlowRegions(ports.regions)
        self.driver = MediaDriver.launch(
            aeron_dir=directory,
            environ={},
            threading_mode="SHARED",
            term_buffer_length="64k",
            ipc_term_buffer_length="64k",
            term_buffer_sparse_file=False,
            timer_interval_ns="20ms",
            ports=replace(ports, regions=self.disk),
            **{"dir_delete_on_shutdown": True, **options},
        )
        self.clients: list[Aeron] = []

    def client(self) -> Aeron:
        self.clients.append(Aeron.connect(aeron_dir=self.driver.aeron_dir))
        return self.clients[-1]

    def logs(self) -> list[Path]:
        return sorted(Path(self.driver.aeron_dir).glob("*/*.logbuffer"))

    def system(self, which: SystemCounter) -> int:
        with CncFile.map(f"{self.driver.aeron_dir}/cnc.dat", writable=False) as cnc:
            return cnc.counters_reader().value(which)

    def until(self, is_so: Callable[[], object]) -> None:
        wait_until(is_so, self.logs)

    def close(self) -> None:
        self.disk.gate.set()
        for client in self.clients:
            client.close()
        self.driver.close()


@pytest.fixture
def stage(aeron_dir: str) -> Iterator[Stage]:
    made = Stage(aeron_dir)
    yield made
    made.close()


class Asking:
    """A publication asked for in a thread of its own, as adding one waits for the answer."""

    def __init__(self, client: Aeron, channel: str, stream_id: int = 10) -> None:
        self.publication: Any = None
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._ask, args=(client, channel, stream_id), daemon=True)
        self._thread.start()

    def _ask(self, client: Aeron, channel: str, stream_id: int) -> None:
        try:
            self.publication = client.add_publication(channel, stream_id)
        except Exception as error:
            self.error = error

    def done(self) -> Any:
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive()
        if self.error is not None:
            raise self.error
        return self.publication


def test_other_streams_come_and_go_while_a_big_log_is_made(stage: Stage) -> None:
    asking = Asking(stage.client(), f"aeron:ipc?{BIG}")
    stage.until(lambda: stage.disk.begun)
    other = stage.client()
    # Sparse files are made at once, others behind the slow one.
    with other.add_publication("aeron:ipc?sparse=true", 11), other.add_subscription("aeron:ipc", 11) as subscription:
        stage.until(lambda: subscription.is_connected)
    assert asking.publication is None
    stage.disk.gate.set()
    assert asking.done().term_buffer_length == 128 * 1024


def test_two_clients_share_the_log_that_the_first_has_asked_for(stage: Stage) -> None:
    asked = [Asking(stage.client(), f"aeron:ipc?{BIG}")]
    stage.until(lambda: stage.disk.begun)
    asked.append(Asking(stage.client(), f"aeron:ipc?{BIG}"))
    stage.client().add_subscription("aeron:ipc", 99)  # behind the second one's command
    stage.disk.gate.set()
    first, second = (item.done() for item in asked)
    assert first.session_id == second.session_id
    assert len(stage.disk.begun) == len(stage.logs()) == 1


def test_a_client_that_closes_meanwhile_leaves_nothing(stage: Stage) -> None:
    client = stage.client()
    client.async_add_publication(f"aeron:ipc?{BIG}", 10)
    stage.until(lambda: stage.disk.begun)
    client.close()
    stage.until(lambda: stage.system(SystemCounter.CLIENT_TIMEOUTS) == 0 and not stage.driver.conductor.core.clients.has(client.client_id))
    stage.disk.gate.set()
    stage.until(lambda: not stage.driver.conductor.waiting_logs and not stage.logs())
    assert stage.system(SystemCounter.ERRORS) == 0


def test_a_big_log_that_cannot_be_made_is_told_to_who_asked(stage: Stage) -> None:
    stage.disk.error = StorageSpaceError("disk full", error_code=ErrorCode.STORAGE_SPACE)
    stage.disk.gate.set()
    with pytest.raises(RegistrationError, match="disk full") as caught:
        stage.client().add_publication(f"aeron:ipc?{BIG}", 10)
    assert caught.value.error_code == ErrorCode.STORAGE_SPACE
    stage.disk.error = None
    with stage.client().add_publication(f"aeron:ipc?{BIG}", 10) as publication:
        assert publication.term_buffer_length == 128 * 1024


def test_an_image_waits_for_its_log_and_the_stream_for_the_image(stage: Stage) -> None:
    client = stage.client()
    with client.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 10) as subscription:
        stage.until(lambda: subscription.try_resolve_channel_endpoint_port() is not None)
        channel = f"{subscription.try_resolve_channel_endpoint_port()}|{BIG}|sparse=true"
        with client.add_publication(channel, 10) as publication:
            stage.until(lambda: stage.disk.begun)
            with stage.client().add_subscription("aeron:ipc", 12):
                assert not publication.is_connected
            stage.disk.gate.set()
            stage.until(lambda: publication.is_connected and subscription.is_connected)
    stage.until(lambda: not any(path.parent.name == "publications" for path in stage.logs()))


def test_an_image_too_many_is_counted_and_made_when_it_is_asked_for_again(stage: Stage) -> None:
    client = stage.client()
    with contextlib.ExitStack() as stack:
        # Several endpoints: one makes fewer images at once than the worker that makes their logs.
        subscriptions = [stack.enter_context(client.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 10)) for _ in range(4)]
        sender = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        stage.until(lambda: all(subscription.try_resolve_channel_endpoint_port() is not None for subscription in subscriptions))
        to = [("127.0.0.1", int(str(one.try_resolve_channel_endpoint_port()).rpartition(":")[2])) for one in subscriptions]

        def ask(session_id: int) -> None:
            frame = SetupEncoder.encode(session_id=session_id, stream_id=10, term_length=128 * 1024, mtu=1408)
            sender.sendto(frame, to[session_id % len(to)])

        def images() -> int:
            return sum(len(subscription.images) for subscription in subscriptions)

        def is_made(count: int) -> bool:
            return len(stage.driver.conductor.core.logs._making) == count

        for session_id in range(_MAKING_MAX):
            ask(session_id)
            stage.until(partial(is_made, session_id + 1))
        assert stage.system(SystemCounter.NATIVE_RESOURCE_AGENT_PROXY_FAILS) == 0
        ask(_MAKING_MAX)
        stage.until(lambda: stage.system(SystemCounter.NATIVE_RESOURCE_AGENT_PROXY_FAILS) == 1)
        stage.disk.gate.set()
        stage.until(lambda: images() == _MAKING_MAX)
        ask(_MAKING_MAX)
        stage.until(lambda: images() == _MAKING_MAX + 1)
        assert stage.system(SystemCounter.NATIVE_RESOURCE_AGENT_PROXY_FAILS) == 1


def test_a_driver_that_ends_meanwhile_leaves_no_file(aeron_dir: str) -> None:
    stage = Stage(aeron_dir, dir_delete_on_shutdown=False)
    stage.client().async_add_publication(f"aeron:ipc?{BIG}", 10)
    stage.until(lambda: stage.disk.begun)
    for client in stage.clients:
        client.close()
    stage.driver.close()
    assert not stage.logs()
    stage.disk.gate.set()
    stage.until(lambda: not Path(stage.disk.begun[0]).exists())


def test_a_prototype_of_responses_gets_the_small_log_that_it_is_given(stage: Stage) -> None:
    stage.disk.gate.set()
    channel = "aeron:udp?control-mode=response|control=127.0.0.1:0|response-correlation-id=prototype"
    with stage.client().add_publication(f"{channel}|{BIG}", 10) as publication:
        assert publication.term_buffer_length == 64 * 1024
    assert not stage.disk.begun
