"""Puts an archive together: directory, mark file, catalog, driver resources, native agents and conductor, from a context and ports.

The command, the embedded archive and the simulator build the same graph with this one module. No step waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.agents.counting import CounterWhileOpen
from aerowire.agents.error_recorder import ErrorRecorder
from aerowire.agents.woken_idle import WokenIdleStrategy
from aerowire.archive.agents.agent_events import AgentEvents
from aerowire.archive.agents.agent_proxies import RecorderProxy, ReplayerProxy
from aerowire.archive.agents.conductor_sleeper import ConductorSleeper
from aerowire.archive.agents.cycle_counters import CycleCounters
from aerowire.archive.agents.position_answers import PositionAnswers
from aerowire.archive.agents.recorder import Recorder
from aerowire.archive.agents.recording_settings import RecordingSettings
from aerowire.archive.agents.replayer import Replayer
from aerowire.archive.agents.transfer_counters import TransferCounters
from aerowire.archive.agents.transfer_settings import TransferSettings
from aerowire.archive.conductor.archive_conductor import ArchiveConductor
from aerowire.archive.conductor.archive_id_check import ArchiveIdCheck
from aerowire.archive.conductor.core import ArchiveCore
from aerowire.archive.conductor.driver_resources import CONDUCTOR, RECORDER, REPLAYER, DriverResources, ResourceRequest
from aerowire.archive.conductor.duty_cycle import DutyCycleTracker
from aerowire.archive.conductor.recording_events_proxy import RecordingEventsProxy
from aerowire.archive.conductor.sessions import SessionList
from aerowire.archive.context import ArchiveThreadingMode
from aerowire.archive.control.archive_events import ArchiveEvents
from aerowire.archive.control.cycle_time import CycleTime
from aerowire.archive.files.catalog import Catalog
from aerowire.archive.files.checksum import checksum_named
from aerowire.archive.files.mark_file import ArchiveDetails, ArchiveMarkFile
from aerowire.archive.files.recovery import recover_recordings
from aerowire.archive.files.segment_move import recover_move
from aerowire.archive.files.segments import delete_recordings
from aerowire.archive.protocol_version import PROTOCOL_VERSION
from aerowire.base.directory import EVENT_LOG_FILE_NAME
from aerowire.base.file_trees import make_directories
from aerowire.base.version import VERSION
from aerowire.client.lending.lent_counter import LentCounter
from aerowire.codecs.flyweights.events import ArchiveEventCode
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.options import OPTIONS as DRIVER_OPTIONS
from aerowire.ipc.error_log import DistinctErrorLog

if TYPE_CHECKING:
    from aerowire.agents.client_errors import ClientErrors
    from aerowire.agents.event_log import EventLog
    from aerowire.archive.context import ArchiveContext
    from aerowire.archive.files.finding import Finding
    from aerowire.client.aeron import Aeron
    from aerowire.client.context import Invoker
    from aerowire.system.ports import Ports

CLIENT_NAME = "archive"
CLIENT_NAME_WITH_ID = "archive archiveId={archive_id}"
_ARCHIVE_ID_OF_CLIENT = -1
# Less what the umask takes.
_DIRECTORY_MODE = 0o755


@dataclass(slots=True)
class ArchiveFiles:
    """The files of an archive that is being started or runs. Invariant: a process has them until `close`."""

    catalog: Catalog
    mark_file: ArchiveMarkFile
    event_log: EventLog | None

    def close(self) -> None:
        """Sync and close the catalog, and let the mark file say that the archive has ended."""
        try:
            self.catalog.close()
        finally:
            self.mark_file.close()


@dataclass(slots=True)
class ArchiveParts:
    """An archive that is complete but not started. Invariant: `close()` comes after the agents have stopped."""

    conductor: ArchiveConductor
    recorder: Recorder
    replayer: Replayer
    files: ArchiveFiles
    aeron: Aeron
    sleeper: ConductorSleeper
    idles: dict[str, WokenIdleStrategy]
    """How the threads of recorder and replayer idle, one strategy for both in a shared one."""

    @property
    def archive_id(self) -> int:
        """Number that tells this archive from others."""
        return self.conductor.core.archive_id

    def close(self) -> None:
        """Close what is still open, tell the driver, and close the files."""
        try:
            self.conductor.close()
        finally:
            self.files.close()


def client_name_of(context: ArchiveContext) -> str:
    """Return the name of the archive's client at the driver."""
    return CLIENT_NAME if context.archive_id == _ARCHIVE_ID_OF_CLIENT else CLIENT_NAME_WITH_ID.format(archive_id=context.archive_id)


class ArchiveBuild:
    """An archive that is being put together: `poll` until it returns the parts. One thread."""

    def __init__(self, context: ArchiveContext, ports: Ports, aeron: Aeron, client_errors: ClientErrors) -> None:
        """Take the directory, open the files, and find where recordings ended that the archive before did not stop.

        `client_errors` has what `aeron` reports.

        Raises ActiveArchiveError, ArchiveFileError, StorageError.
        """
        self._context = context
        self._ports = ports
        self._aeron = aeron
        self._client_errors = client_errors
        self._archive_id = aeron.client_id if context.archive_id == _ARCHIVE_ID_OF_CLIENT else context.archive_id
        self._events = ArchiveEvents()
        self._record_checksum = checksum_named(context.record_checksum)
        self._replay_checksum = checksum_named(context.replay_checksum)
        self._id_check = ArchiveIdCheck(aeron.counters_reader, self._archive_id)
        self._request: ResourceRequest | None = None
        self._findings: list[Finding] = []
        self.files = self._open_files()

    def _open_files(self) -> ArchiveFiles:
        context, ports = self._context, self._ports
        # What is synced in a directory is lost with the directory's own name.
        make_directories(ports.files, context.archive_path, _DIRECTORY_MODE, is_synced=True)
        make_directories(ports.files, context.mark_file_path, _DIRECTORY_MODE)
        mark_file = ArchiveMarkFile.create(
            context.archive_path,
            context.mark_file_path,
            self._details(),
            ports,
            error_buffer_length=context.error_buffer_length,
            page_size=self._aeron.file_page_size,
        )
        try:
            if context.archive_dir_delete_on_start:  # AFTER the mark file: no other archive uses the directory
                delete_recordings(ports.files, context.archive_path)
            event_log = self._open_event_log()
            self._events = ArchiveEvents(event_log)
            catalog = Catalog.open(
                context.archive_path,
                ports.files,
                capacity=context.catalog_capacity,
                sync_level=context.catalog_file_sync_level,
                checksum=self._record_checksum,
                on_resize=self._note_resize,
            )
        except BaseException:
            mark_file.close()
            raise
        opened = ArchiveFiles(catalog, mark_file, event_log)
        try:
            moved = recover_move(catalog)
            recovered = recover_recordings(catalog, ports.clock.now_ms(), self._record_checksum)
            self._findings = [*catalog.findings, *moved, *recovered]
        except BaseException:
            opened.close()
            raise
        return opened

    def _details(self) -> ArchiveDetails:
        context = self._context
        return ArchiveDetails(
            archive_id=self._archive_id,
            control_channel=context.control_channel if context.control_channel_enabled else "",
            control_stream_id=context.control_stream_id,
            local_control_channel=context.local_control_channel,
            local_control_stream_id=context.local_control_stream_id,
            events_channel=context.recording_events_channel if context.recording_events_enabled else "",
            events_stream_id=context.recording_events_stream_id,
            aeron_directory=self._aeron.context.aeron_dir,
        )

    def _open_event_log(self) -> EventLog | None:
        codes = self._context.event_codes
        if not codes:
            return None
        from aerowire.agents.event_log import EventLog

        length = EventLog.file_length(int(DRIVER_OPTIONS["event_buffer_length"].default or 0))
        region = self._ports.regions.create(self._context.archive_path / EVENT_LOG_FILE_NAME, length, sparse=True)
        return EventLog(region, self._ports.clock, codes)

    def _note_resize(self, old_length: int, new_length: int) -> None:
        self._events.note(ArchiveEventCode.CATALOG_RESIZE, old_catalog_length=old_length, new_catalog_length=new_length)

    def poll(self) -> ArchiveParts | None:
        """Return the parts once the driver has answered. Raises ActiveArchiveError, and what the driver refused."""
        if self._request is None:
            if not self._id_check.poll(self._ports.clock.now_ms()):
                return None
            self._request = ResourceRequest(self._context, self._aeron, self._archive_id)
        found = self._request.poll(self._ports.clock.now_ms())
        return None if found is None else self._assemble(found)

    def _assemble(self, found: DriverResources) -> ArchiveParts:
        context, ports, counters = self._context, self._ports, found.counters
        mark_file = self.files.mark_file
        errors = ErrorRecorder(
            DistinctErrorLog(mark_file.error_log_buffer),
            CounterWhileOpen(counters[CounterType.ARCHIVE_ERROR_COUNT]),
            ports.clock,
            owner="aerowire archive",
        )
        for problem in (mark_file.saved_errors, mark_file.save_error):
            if problem is not None:
                errors.warn(f"errors of the archive before: {problem}")
        for finding in self._findings:
            errors.warn(str(finding))
        agent_events = AgentEvents()
        recorder_cycles = _cycles(found, RECORDER, context.recorder_cycle_threshold_ns)
        replayer_cycles = _cycles(found, REPLAYER, context.replayer_cycle_threshold_ns)
        recorder = Recorder(agent_events, ports.clock, _totals(found, "RECORDER", "WRITE"), recorder_cycles)
        replayer = Replayer(agent_events, ports.clock, _totals(found, "REPLAYER", "READ"), replayer_cycles)
        idles = _idle_strategies(context)
        directory = context.archive_path
        core = ArchiveCore(
            context=context,
            ports=ports,
            aeron=self._aeron,
            archive_id=self._archive_id,
            catalog=self.files.catalog,
            errors=errors,
            events=self._events,
            time=CycleTime(ports.clock.now_ns(), ports.clock.now_ms()),
            sessions=SessionList(errors.record),
            agent_events=agent_events,
            position_answers=PositionAnswers(PROTOCOL_VERSION),
            recorder=RecorderProxy(recorder, wake=idles["recorder"].wake),
            replayer=ReplayerProxy(replayer, wake=idles["replayer"].wake),
            recording_settings=RecordingSettings(
                ports.files,
                directory,
                file_io_max_length=context.file_io_max_length,
                sync_level=context.file_sync_level,
                is_preallocated=context.segment_file_preallocate,
                checksum=self._record_checksum,
            ),
            replay_settings=TransferSettings(
                ports.files, directory, file_io_max_length=context.file_io_max_length, checksum=self._replay_checksum
            ),
            recording_events=None if found.recording_events is None else RecordingEventsProxy(found.recording_events),
            control_sessions=counters[CounterType.ARCHIVE_CONTROL_SESSIONS],
            recording_sessions=counters[CounterType.ARCHIVE_RECORDING_SESSION_COUNT],
            replay_sessions=counters[CounterType.ARCHIVE_REPLAY_SESSION_COUNT],
        )
        longest, exceeded = found.cycles[CONDUCTOR]
        sleeper = ConductorSleeper(
            context.new_idle_strategy("conductor"), ports.clock, agent_events, self._aeron.to_clients_buffer, core.position_answers
        )
        conductor = ArchiveConductor(
            core,
            found.subscriptions,
            mark_file,
            DutyCycleTracker(longest, exceeded, context.conductor_cycle_threshold_ns),
            invokers=invokers_of(context, self._aeron),
            client_errors=self._client_errors,
            sleeper=sleeper,
        )
        mark_file.signal_ready(ports.clock.now_ms())
        self._events.note(ArchiveEventCode.START, version=VERSION)
        return ArchiveParts(conductor, recorder, replayer, self.files, self._aeron, sleeper, idles)


def invokers_of(context: ArchiveContext, aeron: Aeron) -> list[Invoker]:
    """Return what does the work of client and driver, where the archive is to do it."""
    found = [context.media_driver_invoker, aeron.conductor_agent_invoker]
    return [invoker for invoker in found if invoker is not None]


def _idle_strategies(context: ArchiveContext) -> dict[str, WokenIdleStrategy]:
    """Return how the threads of recorder and replayer idle, by their names; a shared thread does so as the conductor."""
    if context.threading_mode is ArchiveThreadingMode.DEDICATED:
        return {role: WokenIdleStrategy(context.new_idle_strategy(role)) for role in ("recorder", "replayer")}
    return dict.fromkeys(("recorder", "replayer"), WokenIdleStrategy(context.new_idle_strategy("conductor")))


def _cycles(found: DriverResources, agent: str, threshold_ns: int) -> CycleCounters | None:
    """Return the counters of an agent's cycles, where it has a thread of its own."""
    counters = found.cycles.get(agent)
    return None if counters is None else CycleCounters(LentCounter(counters[0]), LentCounter(counters[1]), threshold_ns)


def _totals(found: DriverResources, agent: str, action: str) -> TransferCounters:
    names = (f"{agent}_TOTAL_{action}_BYTES", f"{agent}_TOTAL_{action}_TIME", f"{agent}_MAX_{action}_TIME")
    return TransferCounters(*(LentCounter(found.counters[CounterType[f"ARCHIVE_{name}"]]) for name in names))
