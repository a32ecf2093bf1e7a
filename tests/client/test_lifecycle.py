"""Clients with threads of their own: meeting the driver, staying alive, forks, signals, and the end of a driver."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aerowire.base.errors import (
    ClosedError,
    DriverDirectoryMissingError,
    DriverShutdownError,
    DriverTimeoutError,
    ForeignDirectoryError,
    ForkedProcessError,
)
from aerowire.client import Aeron, FragmentAssembler, wait_for
from aerowire.codecs.flyweights import cnc
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.driver.media_driver import MediaDriver
from tests.support.waiting import no_longer_than, wait_until

if TYPE_CHECKING:
    from tests.client.conftest import FakeDriver

CHANNEL = "aeron:ipc"
LIMIT_NS = 10_000_000_000


def test_a_missing_driver_is_told_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(DriverDirectoryMissingError, match=r"cnc\.dat.*aerowire driver --dir"):
        Aeron.connect(tmp_path, driver_timeout_ns=20_000_000)


def test_waits_for_a_driver_that_is_starting(aeron_dir: Path, start_driver: type[FakeDriver]) -> None:
    made: list[object] = []
    threading.Timer(0.1, lambda: made.append(start_driver(aeron_dir))).start()
    with Aeron.connect(aeron_dir, driver_timeout_ns=LIMIT_NS) as aeron:
        assert not aeron.is_closed


def test_a_foreign_file_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "cnc.dat").write_bytes(b"something else" * 1000)
    with no_longer_than(5, "it has waited for its time limit"), pytest.raises(ForeignDirectoryError):
        Aeron.connect(tmp_path, driver_timeout_ns=LIMIT_NS)


def test_a_dead_driver_is_told_from_one_that_has_ended(driver: FakeDriver) -> None:
    driver.ring.consumer_heartbeat_ms = 1
    with pytest.raises(DriverTimeoutError):
        Aeron.connect(driver.directory, driver_timeout_ns=20_000_000)
    driver.ring.consumer_heartbeat_ms = cnc.CONSUMER_HEARTBEAT_CLOSED
    with pytest.raises(DriverShutdownError):
        Aeron.connect(driver.directory, driver_timeout_ns=20_000_000)


def test_images_come_without_the_user_doing_anything(driver: FakeDriver) -> None:
    came = threading.Event()
    with driver.background(), Aeron.connect(driver.directory, available_image_handler=lambda _image: came.set()) as aeron:
        subscription = aeron.add_subscription(CHANNEL, 10)
        aeron.add_publication(CHANNEL, 10)
        assert came.wait(5)
        assert subscription.is_connected


def test_a_handler_on_the_conductors_thread_may_close_the_client(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    errors: list[object] = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    threads: list[threading.Thread] = []

    def close(_image: object) -> None:
        threads.append(threading.current_thread())
        aeron.close()

    with driver.background(), Aeron.connect(driver.directory) as publisher:
        aeron = Aeron.connect(driver.directory, error_handler=errors.append, available_image_handler=close)
        aeron.add_subscription(CHANNEL, 10)
        publisher.add_publication(CHANNEL, 10)
        assert wait_for(lambda: bool(threads), LIMIT_NS)
        threads[0].join(LIMIT_NS / 1e9)
        assert not threads[0].is_alive()
    assert threads[0] is not threading.main_thread()
    assert aeron.is_closed
    assert errors == []


def test_a_handler_of_a_waiting_call_may_close_the_client(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The conductor's thread waits for the lock that the call holds, and cannot be waited for."""
    errors: list[object] = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    threads: list[threading.Thread] = []

    def factory(target: Callable[[], None], name: str) -> threading.Thread:
        threads.append(threading.Thread(target=target, name=name, daemon=True))
        return threads[0]

    aeron = Aeron.connect(driver.directory, error_handler=errors.append, thread_factory=factory)

    def close(_image: object) -> None:
        aeron._wakeup.wake()
        wait_for(lambda: not aeron._wakeup.signalled, 200_000_000)  # it is awake and comes for the lock, unless it waits for it already
        aeron.close()

    pending = aeron.async_add_subscription(CHANNEL, 10, available_image_handler=close)
    other = aeron.async_add_publication(CHANNEL, 10)
    with aeron._conductor._lock:
        driver.invoke()
        with no_longer_than(4, "it has waited for its time limit"), pytest.raises(ClosedError):
            pending.poll()
    threads[0].join(LIMIT_NS / 1e9)
    assert not threads[0].is_alive()
    assert other.is_done
    assert errors == []


def test_a_message_that_cannot_be_read_is_reported_and_the_next_one_handled(driver: FakeDriver) -> None:
    errors: list[BaseException] = []
    with driver.background(), Aeron.connect(driver.directory, error_handler=errors.append) as aeron:
        aeron.add_subscription(CHANNEL, 10)
        driver.transmitter.transmit(CommandType.ON_AVAILABLE_IMAGE, b"short")
        assert wait_for(lambda: len(errors) == 1, LIMIT_NS)
        subscription = aeron.async_add_subscription(CHANNEL, 11)
        assert wait_for(lambda: subscription.is_done, LIMIT_NS)  # by the conductor's own thread: nobody polls
        assert not aeron.is_closed


def test_a_call_that_holds_the_interpreter_does_not_end_the_client(aeron_dir: Path, start_driver: type[FakeDriver]) -> None:
    driver = start_driver(aeron_dir, liveness_timeout_ns=400_000_000)
    with driver.background(), Aeron.connect(aeron_dir, keepalive_interval_ns=10_000_000, idle_sleep_duration_ns=1_000_000) as aeron:
        aeron.add_publication(CHANNEL, 10)
        heartbeat_id = driver.heartbeats[aeron.client_id]
        # PyDLL keeps the lock: no Python thread runs for twice the liveness timeout.
        before = driver.counters.value(heartbeat_id)
        ctypes.PyDLL(None).usleep(800_000)
        assert driver.counters.value(heartbeat_id) - before >= 600
        assert not aeron.is_closed


def test_a_client_notices_by_itself_that_its_driver_is_gone(driver: FakeDriver) -> None:
    ended = threading.Event()
    with driver.background(), Aeron.connect(driver.directory, driver_timeout_ns=200_000_000, error_handler=lambda _e: ended.set()) as aeron:
        publication = aeron.add_publication(CHANNEL, 10)
        driver.is_dead = True
        assert ended.wait(5)
        with pytest.raises(DriverTimeoutError):
            publication.offer(b"x")


def test_a_wait_for_a_dead_driver_ends(driver: FakeDriver) -> None:
    with (
        Aeron.connect(driver.directory, driver_timeout_ns=200_000_000) as aeron,
        no_longer_than(5, "it has waited for its time limit"),
        pytest.raises(DriverTimeoutError),
    ):
        aeron.add_publication(CHANNEL, 10)


def test_a_signal_ends_a_wait(driver: FakeDriver) -> None:
    class InterruptedWaitError(Exception):
        pass

    def interrupt(_number: int, _frame: object) -> None:
        raise InterruptedWaitError

    previous = signal.signal(signal.SIGUSR1, interrupt)
    driver.is_deaf = True
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(0.01):
            driver.invoke()

    beating = threading.Thread(target=beat)
    beating.start()
    try:
        with Aeron.connect(driver.directory) as aeron:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            with no_longer_than(5, "it has waited for its time limit"), pytest.raises(InterruptedWaitError):
                aeron.add_publication(CHANNEL, 10)
    finally:
        signal.signal(signal.SIGUSR1, previous)
        stop.set()
        beating.join()


def test_a_forked_child_owns_nothing(real_driver: MediaDriver) -> None:
    with Aeron.connect(real_driver.aeron_dir) as aeron:
        publication = aeron.add_publication(CHANNEL, 20)
        subscription = aeron.add_subscription(CHANNEL, 20)
        counter = aeron.add_counter(1000, "forked")
        assert wait_for(lambda: publication.available_window > 0 and subscription.is_connected, LIMIT_NS)
        claim = publication.try_claim(4)
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            refused = 0
            for call in (
                lambda: publication.offer(b"x"),
                lambda: publication.try_claim(1),
                lambda: subscription.poll(lambda *_: None),
                lambda: subscription.images[0].poll(lambda *_: None),
                lambda: aeron.add_publication(CHANNEL, 1),
                lambda: aeron.counters_reader,
                lambda: counter.value,
                claim.commit,
            ):
                try:
                    call()
                except ForkedProcessError:
                    refused += 1
                except BaseException:
                    refused += 100
            for handle in (publication, subscription, counter, aeron):
                handle.close()
            del claim
            os.write(write_end, bytes([refused]))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert os.read(read_end, 1) == bytes([8])
        os.close(read_end)
        os.close(write_end)
        claim.buffer[:] = b"mine"
        claim.commit()
        got: list[bytes] = []
        assert subscription.poll(lambda _b, _o, _l, header: got.append(header.payload())) == 1
        assert got == [b"mine"]
        assert counter.value == 0


@pytest.mark.parametrize("channel", [CHANNEL, "aeron:udp?endpoint=127.0.0.1:0"])
@pytest.mark.parametrize("exclusive", [False, True])
def test_messages_of_all_lengths_pass_a_real_driver(real_driver: MediaDriver, channel: str, exclusive: bool) -> None:
    messages = [bytes([index % 251]) * (index * 37 % 8000) for index in range(2000)]
    got: list[bytes] = []
    assembler = FragmentAssembler(lambda _b, _o, _l, header: got.append(header.payload()))
    with Aeron.connect(real_driver.aeron_dir) as aeron, aeron.add_subscription(channel, 30) as subscription:
        assert wait_for(lambda: subscription.try_resolve_channel_endpoint_port() is not None, LIMIT_NS)
        resolved = subscription.try_resolve_channel_endpoint_port()
        assert resolved is not None
        add = aeron.add_exclusive_publication if exclusive else aeron.add_publication
        with add(resolved, 30) as publication:
            assert wait_for(lambda: publication.is_connected and subscription.is_connected, LIMIT_NS)
            unsent = deque(messages)

            def work() -> None:
                if unsent and publication.offer(unsent[0]) > 0:
                    unsent.popleft()
                subscription.poll(assembler, 50)

            wait_until(lambda: len(got) >= len(messages), "messages are missing", work=work)
            assert publication.position > 3 * 65536
    assert got == messages


def test_a_process_that_never_closes_its_client_ends(real_driver: MediaDriver) -> None:
    code = f"""
        from aerowire.client import Aeron
        publication = Aeron.connect({real_driver.aeron_dir!r}).add_publication("aeron:ipc", 40)
        print(publication.offer(b"x"))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "-1\n", "")


def test_ctrl_c_ends_a_wait_for_a_driver(tmp_path: Path) -> None:
    # A shell's background jobs are born deaf to SIGINT, and so would be this child of a test that runs in one.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"from aerowire.client import Aeron; print('go', flush=True); Aeron.connect({str(tmp_path)!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    with no_longer_than(5, "it has waited for its time limit"):
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
        assert "KeyboardInterrupt" in stderr


def test_importing_the_client_does_not_import_numpy() -> None:
    code = "import sys, aerowire.client; print([name for name in ('numpy', 'rich', 'asyncio', 'scapy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
