"""Starting and stopping: whose directory it is, embedded and spawned drivers, and what is left behind."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.errors import (
    ActiveDriverError,
    ClosedError,
    ConfigurationError,
    DriverError,
    ForeignDirectoryError,
    StorageSpaceError,
    UnknownOptionError,
)
from aerowire.base.idle import CONTROLLABLE_NOOP, CONTROLLABLE_PARK
from aerowire.codecs.flyweights.cnc import CncHeaderEncoder
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver import MediaDriver
from aerowire.ipc.cnc import CncFile
from aerowire.ipc.error_log import read_errors
from aerowire.system.ports import Ports
from tests.support.waiting import epoch_ms, rest, wait_until

OPTIONS: dict[str, Any] = {"environ": {}, "threading_mode": "INVOKER", "term_buffer_length": "64k"}


def launch(directory: str, **options: Any) -> MediaDriver:
    return MediaDriver.launch(aeron_dir=directory, **{**OPTIONS, **options})


def cnc_of(directory: str) -> CncFile:
    return CncFile.map(f"{directory}/cnc.dat")


class TestDirectory:
    def test_a_fresh_directory_holds_what_clients_look_for(self, aeron_dir: str) -> None:
        with launch(aeron_dir), cnc_of(aeron_dir) as cnc:
            assert {entry.name for entry in Path(aeron_dir).iterdir()} == {
                "cnc.dat",
                "driver.lock",
                "loss-report.dat",
                "publications",
                "images",
            }
            assert (cnc.version, cnc.pid, cnc.file_page_size) == (512, os.getpid(), 4096)
            assert cnc.client_liveness_timeout_ns == 10_000_000_000
            assert Path(aeron_dir, "cnc.dat").stat().st_size == 48_238_592
            assert Path(aeron_dir, "loss-report.dat").stat().st_size == 1_048_576
            assert epoch_ms() - cnc.heartbeat_ms < 5_000

    def test_an_ended_driver_says_so_and_leaves_its_directory(self, aeron_dir: str) -> None:
        launch(aeron_dir).close()
        with cnc_of(aeron_dir) as cnc:
            assert cnc.heartbeat_ms == -1

    def test_dir_delete_on_shutdown_leaves_nothing(self, aeron_dir: str) -> None:
        launch(aeron_dir, dir_delete_on_shutdown=True).close()
        assert not Path(aeron_dir).exists()

    def test_a_second_driver_is_refused_while_the_first_lives(self, aeron_dir: str) -> None:
        with launch(aeron_dir):
            with pytest.raises(ActiveDriverError, match=f"pid {os.getpid()}") as caught:
                launch(aeron_dir)
            assert str(caught.value.where) == aeron_dir
            assert "dir.delete.on.start" in (caught.value.hint or "")
            with cnc_of(aeron_dir) as cnc:
                assert cnc.heartbeat_ms > 0

    def test_of_drivers_that_start_together_one_lives(self, aeron_dir: str) -> None:
        drivers: list[MediaDriver] = []
        refused: list[ActiveDriverError] = []
        together = threading.Barrier(4)

        def start() -> None:
            together.wait()
            try:
                drivers.append(launch(aeron_dir))
            except ActiveDriverError as error:
                refused.append(error)

        starting = [threading.Thread(target=start) for _ in range(together.parties)]
        for thread in starting:
            thread.start()
        for thread in starting:
            thread.join()
        assert (len(drivers), len(refused)) == (1, 3)
        with drivers[0], cnc_of(aeron_dir) as cnc:
            assert cnc.heartbeat_ms > 0

    def test_a_clean_directory_is_taken_over_at_once(self, aeron_dir: str) -> None:
        launch(aeron_dir).close()
        Path(aeron_dir, "publications", "7.logbuffer").write_bytes(b"stale")
        with launch(aeron_dir):
            assert not list(Path(aeron_dir, "publications").iterdir())

    def test_dir_delete_on_start_asks_nobody(self, aeron_dir: str) -> None:
        launch(aeron_dir).close()
        with cnc_of(aeron_dir) as cnc:
            cnc.to_driver.consumer_heartbeat_ms = epoch_ms()
        with launch(aeron_dir, dir_delete_on_start=True):
            pass

    def test_a_start_in_progress_is_waited_for(self, aeron_dir: str) -> None:
        Path(aeron_dir).mkdir()
        header = bytearray(CncHeaderEncoder.ENCODED_LENGTH)
        CncHeaderEncoder(header, 0).pid = os.getppid()
        Path(aeron_dir, "cnc.dat").write_bytes(header)
        with pytest.raises(ActiveDriverError, match=f"pid {os.getppid()}, not ready"):
            launch(aeron_dir, driver_timeout_ns="50ms", timer_interval_ns="10ms")
        assert Path(aeron_dir, "cnc.dat").read_bytes() == header

    @pytest.mark.parametrize("content", [b"", bytes(64), bytes(4096)])
    def test_a_half_made_cnc_file_blocks_nobody(self, aeron_dir: str, content: bytes) -> None:
        Path(aeron_dir).mkdir()
        Path(aeron_dir, "cnc.dat").write_bytes(content)
        with launch(aeron_dir):
            pass

    def test_the_last_driver_s_errors_are_saved(self, aeron_dir: str, capsys: pytest.CaptureFixture[str]) -> None:
        driver = launch(aeron_dir)
        driver.conductor.core.errors.record("something went wrong")
        driver.close()
        launch(aeron_dir).close()
        (saved,) = Path(aeron_dir).parent.glob(Path(aeron_dir).name + "-*-error.log")
        assert "something went wrong" in saved.read_text()
        assert str(saved) in capsys.readouterr().err

    def test_warns_of_a_directory_that_exists_when_asked_to(self, aeron_dir: str, capsys: pytest.CaptureFixture[str]) -> None:
        launch(aeron_dir, dir_warn_if_exists=True).close()
        assert capsys.readouterr().err == ""
        launch(aeron_dir).close()
        assert capsys.readouterr().err == ""
        launch(aeron_dir, dir_warn_if_exists=True).close()
        assert capsys.readouterr().err == f"WARNING: {aeron_dir} exists\n"

    def test_a_foreign_directory_is_refused_and_left_alone(self, aeron_dir: str) -> None:
        Path(aeron_dir).mkdir()
        Path(aeron_dir, "thesis.tex").write_text("years of work")
        for options in ({}, {"dir_delete_on_start": True}):
            with pytest.raises(ForeignDirectoryError, match=r"thesis\.tex"):
                launch(aeron_dir, **options)
        assert Path(aeron_dir, "thesis.tex").read_text() == "years of work"

    def test_a_file_in_its_place_is_refused(self, aeron_dir: str) -> None:
        Path(aeron_dir).write_text("x")
        with pytest.raises(ForeignDirectoryError, match="a file"):
            launch(aeron_dir)
        Path(aeron_dir).unlink()

    def test_a_cnc_file_of_another_version_is_refused(self, aeron_dir: str) -> None:
        Path(aeron_dir).mkdir()
        path = Path(aeron_dir, "cnc.dat")
        path.write_bytes((7 << 16).to_bytes(4, "little") + bytes(8188))
        with pytest.raises(ForeignDirectoryError):
            launch(aeron_dir)
        assert path.stat().st_size == 8192

    def test_strangers_beside_a_driver_s_files_survive(self, aeron_dir: str) -> None:
        launch(aeron_dir).close()
        Path(aeron_dir, "notes.txt").write_text("keep")
        launch(aeron_dir, dir_delete_on_shutdown=True).close()
        assert [entry.name for entry in Path(aeron_dir).iterdir()] == ["notes.txt"]

    def test_an_interrupted_start_leaves_neither_files_nor_threads(self, aeron_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
        start_threads = MediaDriver._start_threads

        def start_and_be_interrupted(driver: MediaDriver, idles: Any) -> None:
            start_threads(driver, idles)
            raise KeyboardInterrupt

        monkeypatch.setattr(MediaDriver, "_start_threads", start_and_be_interrupted)
        before = threading.active_count()
        with pytest.raises(KeyboardInterrupt):
            MediaDriver.launch(aeron_dir=aeron_dir, dir_delete_on_shutdown=True, threading_mode="SHARED", environ={})
        assert not Path(aeron_dir).exists()
        assert threading.active_count() == before

    def test_a_failed_start_leaves_the_directory_usable(self, aeron_dir: str) -> None:
        with pytest.raises(ConfigurationError):
            launch(aeron_dir, sender_idle_strategy="sleepy", threading_mode="DEDICATED")
        with launch(aeron_dir):
            pass


class TestEmbedded:
    @pytest.mark.threads
    @pytest.mark.parametrize("mode", ["DEDICATED", "SHARED_NETWORK", "SHARED"])
    def test_threads_answer_commands_and_stop(self, launch: Callable[..., Any], mode: str) -> None:
        client = launch(threading_mode=mode)
        client.driver._invoker = Waiter()
        subscription = client.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 10)
        client.take(CommandType.ON_SUBSCRIPTION_READY, subscription)
        client.add_subscription("aeron:ipc", 10)
        client.add_publication("aeron:ipc", 10)
        client.take(CommandType.ON_AVAILABLE_IMAGE)
        assert f" {mode}" in client.cnc.counters_reader().label(SystemCounter.SENDER_MAX_CYCLE_TIME)
        client.driver.close()
        client.driver.close()
        assert client.cnc.heartbeat_ms == -1

    def test_a_name_that_takes_long_holds_up_only_its_own_command(self, launch: Callable[..., Any]) -> None:
        asked, go_on = threading.Event(), threading.Event()

        def slow(_host: str, /) -> str:
            asked.set()
            go_on.wait(5)
            return "127.0.0.1"

        client = launch(threading_mode="SHARED", ports=dataclasses.replace(Ports.system(), resolver=slow))
        client.driver._invoker = Waiter()
        subscription = client.add_subscription("aeron:udp?endpoint=somewhere:0", 10)
        assert asked.wait(5)
        before = client.cnc.heartbeat_ms
        client.work_until(lambda: client.cnc.heartbeat_ms > before + 50)
        go_on.set()
        client.take(CommandType.ON_SUBSCRIPTION_READY, subscription)
        assert client.system(SystemCounter.NAME_RESOLVER_MAX_TIME) > 40_000_000

    def test_a_silent_name_that_takes_long_holds_up_no_command(self, launch: Callable[..., Any]) -> None:
        asked: list[str] = []
        asked_again, go_on = threading.Event(), threading.Event()

        def resolve(host: str, /) -> str:
            if host in asked:
                asked_again.set()
                go_on.wait(5)
            asked.append(host)
            return "127.0.0.1"

        ports = dataclasses.replace(Ports.system(), resolver=resolve)
        client = launch(threading_mode="SHARED", ports=ports, driver_reresolution_check_interval_ns="20ms")
        client.driver._invoker = Waiter()
        client.take(CommandType.ON_PUBLICATION_READY, client.add_publication("aeron:udp?endpoint=silent:9", 10))
        assert asked_again.wait(10)
        client.take(CommandType.ON_SUBSCRIPTION_READY, client.add_subscription("aeron:udp?endpoint=somewhere:0", 10))
        assert asked == ["silent", "somewhere"]
        go_on.set()

    @pytest.mark.parametrize(
        ("mode", "naming", "names"),
        [
            ("DEDICATED", "classic", {"sender", "receiver", "conductor", "client-commands"}),
            ("DEDICATED", "new", {"aeron-md-snd", "aeron-md-rcv", "aeron-md-cnd", "aeron-md-cmd"}),
            ("SHARED_NETWORK", "new", {"aeron-md-net", "aeron-md-cnd", "aeron-md-cmd"}),
            ("SHARED", "classic", {"[conductor, sen", "client-commands"}),
            ("SHARED", "new", {"aeron-md-shd", "aeron-md-cmd"}),
        ],
    )
    def test_the_system_knows_threads_by_their_names(self, aeron_dir: str, mode: str, naming: str, names: set[str]) -> None:
        before = set(Path("/proc/self/task").iterdir())
        with launch(aeron_dir, threading_mode=mode, thread_naming=naming):

            def found() -> set[str]:
                return {Path(task, "comm").read_text().strip() for task in set(Path("/proc/self/task").iterdir()) - before}

            wait_until(lambda: found() == names, found)

    def test_a_thread_runs_on_the_processor_it_was_given(self, aeron_dir: str) -> None:
        cpu = max(os.sched_getaffinity(0))
        with launch(aeron_dir, threading_mode="SHARED", thread_naming="new", conductor_cpu_affinity=cpu):
            (task,) = [entry for entry in Path("/proc/self/task").iterdir() if Path(entry, "comm").read_text().strip() == "aeron-md-shd"]
            assert os.sched_getaffinity(int(task.name)) == {cpu}

    def test_a_processor_that_is_not_there_is_told_and_not_fatal(self, aeron_dir: str) -> None:
        with launch(aeron_dir, threading_mode="SHARED", conductor_cpu_affinity=4_000), cnc_of(aeron_dir) as cnc:
            assert [error.text for error in read_errors(cnc.error_log_buffer) if "affinity" in error.text]

    def test_a_controllable_idle_strategy_parks_until_it_is_told(self, aeron_dir: str) -> None:
        with launch(aeron_dir, threading_mode="SHARED", shared_idle_strategy="controllable") as driver, cnc_of(aeron_dir) as cnc:
            counters = cnc.counters_manager()
            assert counters.value(SystemCounter.CONTROLLABLE_IDLE_STRATEGY) == CONTROLLABLE_PARK
            runner, _ = driver._runners

            def cycles_of(told: int) -> int:
                counters.set_value(SystemCounter.CONTROLLABLE_IDLE_STRATEGY, told)
                before, until = runner.invoker.cycle_count, time.monotonic() + 0.03
                while time.monotonic() < until:
                    time.sleep(0.005)
                return runner.invoker.cycle_count - before

            parked = max(cycles_of(CONTROLLABLE_PARK) for _ in range(3))
            assert max(cycles_of(CONTROLLABLE_NOOP) for _ in range(3)) > 3 * parked

    def test_a_strategy_of_no_thread_controls_nothing(self, aeron_dir: str) -> None:
        with launch(aeron_dir, threading_mode="SHARED", sender_idle_strategy="controllable"), cnc_of(aeron_dir) as cnc:
            assert cnc.counters_reader().value(SystemCounter.CONTROLLABLE_IDLE_STRATEGY) == 0

    def test_a_strategy_that_decides_nothing_is_refused_when_there_is_none_of_that_name(self, aeron_dir: str) -> None:
        with pytest.raises(ConfigurationError, match=r"aeron\.driver\.native\.resource\.agent\.idle\.strategy.*sleepy"):
            launch(aeron_dir, driver_native_resource_agent_idle_strategy="sleepy")
        with launch(aeron_dir, driver_native_resource_agent_idle_strategy="spin") as driver:
            (told,) = driver._context.options_without_effect()
            assert "the thread that makes and frees files is woken by what there is to do" in told

    def test_an_idle_strategy_with_too_many_arguments_is_refused(self, aeron_dir: str) -> None:
        with pytest.raises(ConfigurationError, match="no such arguments"):
            launch(aeron_dir, sender_idle_strategy="noop", sender_idle_strategy_init_args="1 2")

    @pytest.mark.parametrize(("text", "period_ms"), [("5", 5), ("5ms", 5), ("2s", 2_000)])
    def test_a_period_of_an_idle_strategy_is_read_in_its_unit(self, aeron_dir: str, text: str, period_ms: int) -> None:
        with launch(aeron_dir, sender_idle_strategy="sleeping-ms", sender_idle_strategy_init_args=text) as driver:
            assert repr(driver._idle("sender")) == f"SleepingMillisIdleStrategy({period_ms})"

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("backoff", str(1 << 63)),
            ("backoff", "1 1 1 " + "9" * 5000),
            ("sleeping-ms", str((1 << 63) // 1_000_000 + 1)),
            ("sleeping-ns", "²"),
        ],
    )
    def test_an_argument_of_an_idle_strategy_beyond_64_bits_is_refused(self, aeron_dir: str, name: str, text: str) -> None:
        with pytest.raises(ConfigurationError, match=r"at aeron\.sender\.idle\.strategy\.init\.args; expected"):
            launch(aeron_dir, sender_idle_strategy=name, sender_idle_strategy_init_args=text)

    def test_a_full_disk_ends_the_capture_and_not_the_driver(self, launch: Callable[..., Any], tmp_path: Path) -> None:
        pipe = tmp_path / "capture.pcapng"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        client = launch(threading_mode="SHARED", capture=pipe)
        client.driver._invoker = Waiter()
        os.close(reader)  # from now on each write fails, as on a disk without room
        client.add_publication("aeron:udp?endpoint=127.0.0.1:9", 10)
        client.take(CommandType.ON_PUBLICATION_READY)
        client.work_until(lambda: client.system(SystemCounter.ERRORS) > 0)
        client.add_publication("aeron:ipc", 11)
        client.take(CommandType.ON_PUBLICATION_READY)
        with pytest.raises(StorageSpaceError, match="capture ended"):
            client.driver.check_capture()

    def test_options_without_effect_stand_in_the_error_log(self, aeron_dir: str) -> None:
        with launch(aeron_dir, enable_experimental_features=True), cnc_of(aeron_dir) as cnc:
            (error,) = read_errors(cnc.error_log_buffer)
            assert "option without effect: aeron.enable.experimental.features" in error.text

    def test_launch_embedded_has_a_directory_of_its_own(self) -> None:
        with MediaDriver.launch_embedded(**OPTIONS) as one, MediaDriver.launch_embedded(**OPTIONS) as two:
            assert one.aeron_dir != two.aeron_dir
        assert not Path(one.aeron_dir).exists()

    def test_only_an_invoker_driver_has_an_invoker(self, aeron_dir: str) -> None:
        with launch(aeron_dir, threading_mode="SHARED") as driver, pytest.raises(ClosedError, match="INVOKER"):
            _ = driver.invoker

    def test_an_idle_driver_sleeps(self, aeron_dir: str) -> None:
        with launch(aeron_dir, threading_mode="SHARED"):
            time.sleep(0.1)
            cpu, wall = time.process_time(), time.monotonic()
            time.sleep(0.5)
            assert (time.process_time() - cpu) / (time.monotonic() - wall) < 0.15

    def test_a_forked_child_leaves_the_driver_alone(self, aeron_dir: str) -> None:
        with launch(aeron_dir, dir_delete_on_shutdown=True) as driver:
            pid = os.fork()
            if pid == 0:
                driver.close()
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
            with cnc_of(aeron_dir) as cnc:
                assert cnc.heartbeat_ms > 0


class Waiter:
    """Stands in for the invoker where threads do the work."""

    def invoke(self) -> None:
        rest()

    def close(self) -> None:
        pass


class TestSpawned:
    def test_runs_in_its_own_process_and_ends_in_order(self, aeron_dir: str) -> None:
        with MediaDriver.spawn(
            aeron_dir=aeron_dir, threading_mode="SHARED", term_buffer_length="64k", dir_delete_on_shutdown=True
        ) as driver:
            assert driver.is_running
            with cnc_of(aeron_dir) as cnc:
                assert cnc.pid == driver.pid != os.getpid()
        assert not driver.is_running
        assert driver.wait() == 0
        assert not Path(aeron_dir).exists()

    def test_a_mistake_in_an_option_is_told_before_anything_starts(self, aeron_dir: str) -> None:
        with pytest.raises(UnknownOptionError):
            MediaDriver.spawn(aeron_dir=aeron_dir, mtu_lenght=3)
        with pytest.raises(ConfigurationError):
            MediaDriver.spawn(aeron_dir=aeron_dir, mtu_length=3)

    def test_a_failed_start_raises_what_the_driver_raised(self, aeron_dir: str) -> None:
        with launch(aeron_dir), pytest.raises(ActiveDriverError, match="a live driver owns the directory"):
            MediaDriver.spawn(aeron_dir=aeron_dir)
        Path(aeron_dir, "cnc.dat").unlink()
        Path(aeron_dir, "thesis.tex").touch()
        with pytest.raises(DriverError, match=r"thesis\.tex"):
            MediaDriver.spawn(aeron_dir=aeron_dir)

    def test_a_killed_driver_leaves_nothing_that_blocks_the_next(self, aeron_dir: str) -> None:
        options: dict[str, Any] = {"aeron_dir": aeron_dir, "threading_mode": "SHARED", "timer_interval_ns": "50ms"}
        with MediaDriver.spawn(**options) as first:
            first.kill()
        with MediaDriver.spawn(**options) as second:  # long before the driver timeout of 10 s
            assert second.pid != first.pid

    def test_ends_when_its_parent_is_killed(self, aeron_dir: str) -> None:
        code = (
            "import sys, time; from aerowire.driver import MediaDriver\n"
            f"driver = MediaDriver.spawn(aeron_dir={aeron_dir!r}, threading_mode='SHARED')\n"
            "print(driver.pid, flush=True); time.sleep(60)\n"
        )
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdout is not None
            pid = int(parent.stdout.readline())
            parent.send_signal(signal.SIGKILL)
            parent.wait()
        wait_until(lambda: not is_alive(pid), "the driver has outlived its parent")
        with cnc_of(aeron_dir) as cnc:
            assert cnc.heartbeat_ms == -1


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except FileNotFoundError:
        return False
