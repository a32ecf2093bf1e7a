"""The start of a member: from recording.log and the archive to what its consensus begins with. Aeron: recoverFromSnapshotAndLog.

The recording of the log that an earlier life left going on is stopped; the consensus module's own snapshot is loaded; the recovery counter
tells services theirs, and each acknowledges that it has loaded it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerowire.archive.client.replay_commands import session_id_of
from aerowire.base.errors import ConsensusModuleError
from aerowire.base.units import NULL_VALUE
from aerowire.cluster.consensus.inputs import RecoveryFacts, TermEntry
from aerowire.cluster.module import channels
from aerowire.cluster.module.cluster_counters import async_add_recovery_state
from aerowire.cluster.module.log.log_replay import await_image
from aerowire.cluster.module.node_services.service_acks import FAILED_ID
from aerowire.cluster.module.standby_snapshot_replicator import replicate_standby_snapshots
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.archive.client.descriptors import RecordingDescriptor
    from aerowire.client.handles.counter import Counter
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.cluster.files.recovery_plan import RecoveryPlan
    from aerowire.cluster.files.snapshot_sets import Snapshot
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.node_services.service_acks import ServiceAcks

_Steps = Generator["Pending[Any] | None", Any, None]
# Reads the consensus module's own snapshot from an image, step by step.
LoadSnapshot = Callable[["Image", "Snapshot"], _Steps]


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a member begins with. `client_ids` are those of its services at the driver, by service."""

    plan: RecoveryPlan
    facts: RecoveryFacts
    client_ids: tuple[int, ...]


def recover(
    core: ModuleCore, acks: ServiceAcks, load_snapshot: LoadSnapshot, start_anew: Callable[[], _Steps]
) -> Generator[Pending[Any] | None, Any, Recovered]:
    """Recover, in steps: from a snapshot, or, where there is none, by `start_anew`.

    Raises ConsensusModuleError, RecordingLogError, ArchiveError, ClusterSnapshotError.
    """
    log = core.recording_log
    recording_id = log.find_last_term_recording_id()
    if recording_id != NULL_VALUE:
        yield core.archive.async_try_stop_recording_by_identity(recording_id)
    try:
        yield from replicate_standby_snapshots(core)
    except ConsensusModuleError as error:  # the node's own snapshots are enough
        core.errors.record(error)
    extent = yield from _stopped_extent(core, log.recording_of_plan())
    if extent is not None:
        _end_terms_at(core, extent.stop_position)
    plan = log.create_recovery_plan(core.context.service_count, extent)
    counter: Counter = yield async_add_recovery_state(core.aeron, plan, core.context.cluster_id)
    try:
        if plan.snapshots:
            yield from _load(core, plan.snapshots[0], load_snapshot)
        else:
            yield from start_anew()
        client_ids = yield from _await_services(acks, plan.snapshots[0].log_position if plan.snapshots else 0)
    finally:
        if not core.aeron.is_closed:
            counter.close()
    _check_clients(core, client_ids)
    return Recovered(plan, _facts(core, plan), client_ids)


def _stopped_extent(core: ModuleCore, recording_id: int | None) -> Generator[Pending[Any] | None, Any, RecordingDescriptor | None]:
    """Return what the archive knows of a recording once it has stopped; None where it knows none."""
    while recording_id is not None:
        found: list[RecordingDescriptor] = yield core.archive.async_list_recording(recording_id)
        if not found:
            break
        if found[0].stop_position != NULL_POSITION:
            return found[0]
        yield None
    return None


def _end_terms_at(core: ModuleCore, stop_position: int) -> None:
    """Invalidate terms that begin beyond the recording's end: a crash came between a truncation and its note in recording.log."""
    log = core.recording_log
    beyond = [entry for entry in log.entries if entry.is_valid_term and entry.term_base_log_position > stop_position]
    for entry in beyond:
        core.errors.record(f"term {entry.leadership_term_id} begins beyond the recording of the log", key="term beyond the recording")
        log.invalidate_entry(entry)
    if beyond:
        log.force()


def _load(core: ModuleCore, snapshot: Snapshot, load_snapshot: LoadSnapshot) -> Generator[Pending[Any] | None, Any, None]:
    """Replay the consensus module's snapshot to this member, and read it."""
    context = core.context
    replay_session_id: int = yield core.archive.async_start_replay(snapshot.recording_id, context.replay_channel, context.replay_stream_id)
    session_id = session_id_of(replay_session_id)
    channel = channels.with_parameters(context.replay_channel, session_id=session_id)
    subscription: Subscription = yield core.aeron.async_add_subscription(channel, context.replay_stream_id)
    try:
        image = yield from await_image(core, subscription, session_id)
        yield from load_snapshot(image, snapshot)
    finally:
        if not core.aeron.is_closed:
            subscription.close()


def _await_services(acks: ServiceAcks, log_position: int) -> Generator[None, None, tuple[int, ...]]:
    """Wait until each service has recovered; return their clients' ids."""
    while not acks.is_round_complete:
        yield
    found = acks.take_round()
    for service_id, ack in enumerate(found):
        if ack.relevant_id == FAILED_ID:
            raise ConsensusModuleError("failed to start clustered service", where=f"serviceId={service_id}", actual=ack)
        if ack.log_position != log_position:
            raise ConsensusModuleError("service recovered elsewhere", where=f"serviceId={service_id}", expected=log_position, actual=ack)
    return tuple(ack.relevant_id for ack in found)


def _check_clients(core: ModuleCore, client_ids: tuple[int, ...]) -> None:
    """Raise ConsensusModuleError where a service has ended since it recovered: from here on the member notices the end of its client."""
    counters = core.aeron.counters_reader.for_each()
    alive = {info.registration_id for info in counters if info.type_id == CounterType.CLIENT_HEARTBEAT}
    for service_id, client_id in enumerate(client_ids):
        if client_id not in alive:
            raise ConsensusModuleError("a service has ended while the others recovered", where=f"serviceId={service_id}", actual=client_id)


def _facts(core: ModuleCore, plan: RecoveryPlan) -> RecoveryFacts:
    terms = tuple(
        TermEntry(entry.leadership_term_id, entry.term_base_log_position, entry.log_position)
        for entry in core.recording_log.entries
        if entry.is_valid_term
    )
    log_position = plan.snapshots[0].log_position if plan.snapshots else 0
    return RecoveryFacts(
        terms=terms,
        candidate_term_id=core.node_state.candidate_term.candidate_term_id,
        log_position=log_position,
        append_position=max(plan.appended_log_position, log_position),
        log_recording_id=NULL_VALUE if plan.log is None else plan.log.recording_id,
    )
