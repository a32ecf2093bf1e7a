"""Archives in the world: the real archive, in a process of its own on a simulated host, with its files on the host's disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerowire.archive.archive import Archive
from aerowire.archive.context import ArchiveContext
from aerowire.base.errors import AerowireError, ClosedError
from aerowire.base.units import INT64_MAX
from aerowire.simulation.process import ProcessState
from aerowire.simulation.sleeping_agent import SleepingAgent

if TYPE_CHECKING:
    from aerowire.archive.archive import ArchiveClose, ArchiveLaunch
    from aerowire.simulation.process import Process
    from aerowire.system.ports import Ports

# How often the conductor looks for what does not wake it: answers of its driver, requests, timeouts of sessions.
LOOK_NS = 10_000_000


class SimulatedArchive:
    """One process with one archive. From `SimulatedHost.start_archive`; the world calls `work`.

    What kept it from starting is in `failure`, and what ended it besides. Invariant: once it has ended, orderly or killed, it does nothing.
    """

    def __init__(self, *, ports: Ports, process: Process, sleeps: bool, **options: Any) -> None:
        """`ports` are the process's, `options` those of its ArchiveContext. One that sleeps is that of SimulatedHost.start_archive."""
        self.failure: AerowireError | None = None
        self._sleeps = sleeps
        self._conductor: SleepingAgent | None = None
        self._clock = ports.clock
        self._process = process
        self._archive: Archive | None = None
        self._closing: ArchiveClose | None = None
        self._look_ns = ports.clock.now_ns()
        context = ArchiveContext(**{"environ": {}, **options, "threading_mode": "INVOKER"})
        self._launching: ArchiveLaunch = Archive.async_launch(context, ports=ports)

    @property
    def archive(self) -> Archive:
        """The archive. Raises ClosedError before it serves, and what kept it from that."""
        if self.failure is not None:
            raise self.failure
        if self._archive is None:
            raise ClosedError("the archive does not serve yet", where=self._process.name, expected="`is_serving`", actual="starting")
        return self._archive

    @property
    def process(self) -> Process:
        """The process, to be paused, slowed or killed."""
        return self._process

    @property
    def is_serving(self) -> bool:
        """Whether it has started and not ended."""
        return self._archive is not None and not self._archive.has_ended and not self.has_ended

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended: in order, killed, or with its host's power; or with what kept it from starting."""
        return self._process.state is ProcessState.ENDED

    def work(self) -> int:
        """Run one duty cycle; return how much was done."""
        if self.has_ended:
            return 0
        self._look_ns = self._clock.now_ns() + LOOK_NS
        if self._closing is not None:
            return self._finish(self._closing)
        if self._archive is None:
            return self._look()
        try:
            done = self._invoke(self._archive)
        except AerowireError as error:  # it stood still for so long that its driver has dropped it
            self.failure = error
            self._process.kill()
            return 1
        if self._archive.has_ended:
            self._closing = self._archive.async_close()
        return done

    def next_deadline_ns(self) -> int:
        """Return when there is work without a datagram."""
        if self.has_ended:
            return INT64_MAX
        if self._archive is None or self._closing is not None:
            return self._look_ns
        look_ns = self._look_ns if self._conductor is None else self._conductor.next_deadline_ns()
        return min(look_ns, self._archive.invoker.next_native_deadline_ns())

    def close(self) -> None:
        """End the process in an orderly way, once its recordings and replays have ended. A second call does nothing."""
        if self.has_ended or self._closing is not None:
            return
        if self._archive is not None:
            self._closing = self._archive.async_close()
        else:
            self._launching.abandon()
            self._process.end()

    def kill(self) -> None:
        """End the process at once: what it wrote stays, and nothing of its orderly end runs."""
        if not self.has_ended:
            self._process.kill()

    def _invoke(self, archive: Archive) -> int:
        if not self._sleeps:
            return archive.invoker.invoke()
        clock, conductor = self._clock, archive.conductor
        if self._conductor is None:
            self._conductor = SleepingAgent(
                lambda: conductor.do_work(clock.now_ns(), clock.now_ms()), conductor.next_deadline_ns, conductor.has_news, clock
            )
        return archive.invoker.invoke_native() + self._conductor.work()

    def _look(self) -> int:
        if not self._launching.poll():
            return 0
        try:
            self._archive = self._launching.result()
        except AerowireError as error:
            self.failure = error
            self._process.end()
        return 1

    def _finish(self, closing: ArchiveClose) -> int:
        if not closing.poll():
            return 0
        try:
            closing.result()
        except AerowireError as error:
            self.failure = error
        self._process.end()
        return 1
