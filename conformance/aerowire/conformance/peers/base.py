"""What the suite asks of an adapter, and the adapter that runs a driver as a process of its own.

To test another driver, subclass `ProcessPeer` with its command line, or write any class with `Peer`'s members.
"""

from __future__ import annotations

import abc
import copy
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from aerowire.codecs.tables.options import OPTIONS
from aerowire.conformance.errors import ConformanceError
from aerowire.conformance.harness.cnc import CNC_FILE, CncFile, DriverUnreachableError
from aerowire.conformance.harness.wire import free_port
from aerowire.process.interruption import deferred

SHARED_MEMORY = Path("/dev/shm")
STOP_TIMEOUT_S = 5.0
LOG_TAIL = 2000
# The default time after which clients give up a silent driver.
LIVE_WITHIN_MS = 10_000
# What the C driver calls what properties call by a Java class.
C_WORDS = {"io.aeron.driver.DefaultAllowTerminationValidator": "allow", "io.aeron.driver.DefaultDenyTerminationValidator": "deny"}
# A Java driver on a starved machine needs some seconds for its first sign of life.
START_TIMEOUT_S = 20.0


class PeerError(ConformanceError):
    """The driver cannot be started, or an adapter was asked for what it cannot do."""


class Peer(abc.ABC):
    """One driver under test.

    `release` is the Aeron release that the driver implements where that is known to be an older one than the
    catalogue's; None applies every rule. `properties` are Aeron properties in force that differ from the defaults.
    """

    name: str
    release: str | None = None

    def __init__(self, properties: Mapping[str, str] | None = None) -> None:
        self.properties: dict[str, str] = dict(properties or {})
        self.directory = Path()

    @abc.abstractmethod
    def start(self) -> None:
        """Start the driver, or find it; `directory` holds its files afterwards."""

    @abc.abstractmethod
    def stop(self) -> None:
        """Stop what `start` started and remove its files."""

    def variant(self, properties: Mapping[str, str]) -> Peer:
        """Return a driver of the same kind with these properties too, to be started. Raises PeerError when the adapter starts none."""
        wanted = ", ".join(f"{name}={value}" for name, value in properties.items())
        raise PeerError(f"this driver was started by somebody else; the case needs one with {wanted}")

    def rival(self, properties: Mapping[str, str]) -> Peer:
        """Return a second driver that was just started on the directory of this one. Raises PeerError when the adapter starts none."""
        wanted = ", ".join(f"{name}={value}" for name, value in properties.items())
        raise PeerError(f"this driver was started by somebody else; the case needs a second one with {wanted}")

    def await_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until the driver has made its directory. Raises PeerError, with the driver's last words, when it does not."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                CncFile(self.directory, timeout_s=0.2).close()
            except DriverUnreachableError as error:
                if self.is_alive() and time.monotonic() < deadline:
                    continue
                raise PeerError(f"{error}\n{self.diagnostics()}".rstrip()) from None
            return

    def is_alive(self) -> bool:
        """Say whether the driver's process is there; adapters without a process trust the heartbeat."""
        return True

    @property
    def pid(self) -> int | None:
        """The driver's process, None where the adapter does not know it."""
        return None

    def restart(self) -> bool:
        """Start the driver anew after it died; return whether the adapter can."""
        return False

    def diagnostics(self) -> str:
        """Return the last words of the driver."""
        return ""


class ProcessPeer(Peer):
    """A driver in its own process with a directory of its own in shared memory."""

    def __init__(self, properties: Mapping[str, str] | None = None, directory: Path | None = None) -> None:
        super().__init__(properties)
        self._process: subprocess.Popen[bytes] | None = None
        self._parent: Path | None = None
        self._wanted = directory
        self._log: Path | None = None

    def command(self) -> list[str]:
        """Return the command line that runs the driver on `directory` with `properties`."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """Return the driver's environment."""
        return dict(os.environ)

    def start(self) -> None:
        """Start the process; its output goes to a file beside the driver's directory."""
        parent = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
        with deferred():
            self._parent = Path(tempfile.mkdtemp(prefix="aerowire-conformance-", dir=parent))
        self.directory = self._wanted or self._parent / "aeron"
        self._check_directory()
        self._log = self._parent / "driver.log"
        self._spawn()

    def variant(self, properties: Mapping[str, str]) -> ProcessPeer:
        """Return a driver of the same kind with these properties too, in a directory of its own, to be started."""
        twin = copy.copy(self)
        twin.properties = {**self.properties, **properties}
        twin.directory = Path()
        twin._process = twin._parent = twin._wanted = twin._log = None
        return twin

    def rival(self, properties: Mapping[str, str]) -> ProcessPeer:
        """Return a second driver that was just started on the directory of this one, with its output beside that of this one."""
        twin = self.variant(properties)
        twin.directory = self.directory
        with deferred():
            twin._parent = Path(tempfile.mkdtemp(prefix="aerowire-conformance-", dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None))
        twin._log = twin._parent / "driver.log"
        twin._spawn()
        return twin

    def _check_directory(self) -> None:
        """Refuse a directory whose content is not the suite's to replace."""
        if not self.directory.is_dir() or not any(self.directory.iterdir()):
            return
        if not (self.directory / CNC_FILE).exists():
            raise PeerError(f"{self.directory}: holds files of somebody else; name an empty or a new directory")
        try:
            cnc = CncFile(self.directory, timeout_s=0.0)
        except DriverUnreachableError:
            return
        is_live = cnc.is_alive(LIVE_WITHIN_MS)
        cnc.close()
        if is_live:
            raise PeerError(f"{self.directory}: a live driver has it; test that one with --driver running")

    def _spawn(self) -> None:
        assert self._log is not None
        command = self.command()
        with self._log.open("ab") as log, deferred():
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment(), start_new_session=True
                )
            except OSError as error:
                raise PeerError(f"cannot start {command[0]}: {error}") from None

    def stop(self) -> None:
        """End the process and remove its files."""
        if self._process is not None:
            stop_process(self._process)
            self._process = None
        if self._parent is not None:
            shutil.rmtree(self._parent, ignore_errors=True)
            self._parent = None

    def restart(self) -> bool:
        """Start the process anew on the same directory."""
        if self._process is not None:
            stop_process(self._process)
        shutil.rmtree(self.directory, ignore_errors=True)
        self._spawn()
        self.await_ready()
        return True

    def is_alive(self) -> bool:
        """Say whether the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """The process that was started."""
        return self._process.pid if self._process is not None else None

    def diagnostics(self) -> str:
        """Return the end of the driver's output and its exit code, if it ended."""
        code = self._process.poll() if self._process is not None else None
        ended = "" if code is None else f"exit code {code}\n"
        text = self._log.read_text(errors="replace")[-LOG_TAIL:] if self._log is not None and self._log.exists() else ""
        return ended + text


@contextmanager
def started(peer: Peer) -> Iterator[Peer]:
    """Start a peer, wait until its directory is ready, and stop it at the end."""
    try:
        peer.start()
        peer.await_ready()
        yield peer
    finally:
        peer.stop()


def stop_process(process: subprocess.Popen[bytes]) -> None:
    """End a process in order, and by force when it does not."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
    time.sleep(0)


def as_properties(properties: Mapping[str, str], directory: Path) -> list[str]:
    """Return `-Dname=value` arguments for the directory and the properties."""
    named = {OPTIONS["dir"].property: str(directory), **with_ports(properties)}
    return [f"-D{name}={value}" for name, value in named.items()]


def as_environment(properties: Mapping[str, str], directory: Path) -> dict[str, str]:
    """Return environment variables for the directory and the properties, named as the C driver names them."""
    names = {option.property: option.env for option in OPTIONS.values()}
    named = {OPTIONS["dir"].property: str(directory), **with_ports(properties)}
    return {names.get(name) or name.upper().replace(".", "_"): C_WORDS.get(value, value) for name, value in named.items()}


def with_ports(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties with each `{free_port}` in their values replaced: some drivers do not say which port they got for port 0."""
    return {name: value.replace("{free_port}", str(free_port())) for name, value in properties.items()}
