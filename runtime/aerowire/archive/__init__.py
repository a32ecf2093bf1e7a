"""The Archive: streams recorded to disk, replayed and replicated. Names are loaded at first use.

from aerowire.archive import AeronArchive

with AeronArchive.connect(control_request_channel="aeron:udp?endpoint=localhost:8010") as archive:
    archive.start_recording("aeron:ipc", 10)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from aerowire.archive.archive import Archive
    from aerowire.archive.client.aeron_archive import AeronArchive
    from aerowire.archive.client.async_connect import AsyncConnect, ConnectState
    from aerowire.archive.client.composite_commands import ContinuedPublication
    from aerowire.archive.client.context import ArchiveClientContext
    from aerowire.archive.client.control_session import SessionState
    from aerowire.archive.client.credentials import CredentialsSupplier, FixedCredentials
    from aerowire.archive.client.descriptors import RecordingDescriptor, RecordingSignalEvent, RecordingSubscriptionDescriptor
    from aerowire.archive.client.parameters import (
        NULL_POSITION,
        REPLAY_ALL_AND_FOLLOW,
        REPLAY_ALL_AND_STOP,
        ReplayParams,
        ReplicationParams,
    )
    from aerowire.archive.client.persistent.event_log import ArchiveEventLog
    from aerowire.archive.client.persistent.stream import (
        FROM_LIVE,
        FROM_START,
        FailureReason,
        PersistentStream,
        PersistentSubscriptionError,
    )
    from aerowire.archive.client.persistent.subscription import PersistentSubscription
    from aerowire.archive.client.recording_events import RecordingEventsPoller, RecordingProgress, RecordingStarted, RecordingStopped
    from aerowire.archive.client.recording_follower import RecordingFollower
    from aerowire.archive.client.recording_pos import (
        RecordingPosition,
        describe_recording_counter,
        find_counter_id_by_recording,
        find_counter_id_by_session,
        is_recording_active,
        recording_positions,
    )
    from aerowire.archive.client.replay_commands import OpenReplay
    from aerowire.archive.client.replay_merge import MergeState, ReplayMerge
    from aerowire.archive.client.segments import segment_file_base_position
    from aerowire.archive.context import ArchiveContext, ArchiveThreadingMode
    from aerowire.codecs.flyweights.archive.enums import RecordingSignal, SourceLocation
    from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
    from aerowire.security.authentication import Authenticator, ChallengeAuthenticator, SessionProxy, SimpleAuthenticator
    from aerowire.security.authorisation import (
        ALLOW_ALL,
        DENY_ALL,
        AuthorisationRule,
        AuthorisationService,
        SimpleAuthorisationService,
    )

__all__ = [
    "ALLOW_ALL",
    "DENY_ALL",
    "FROM_LIVE",
    "FROM_START",
    "NULL_POSITION",
    "REPLAY_ALL_AND_FOLLOW",
    "REPLAY_ALL_AND_STOP",
    "AeronArchive",
    "Archive",
    "ArchiveClientContext",
    "ArchiveContext",
    "ArchiveErrorCode",
    "ArchiveEventLog",
    "ArchiveThreadingMode",
    "AsyncConnect",
    "Authenticator",
    "AuthorisationRule",
    "AuthorisationService",
    "ChallengeAuthenticator",
    "ConnectState",
    "ContinuedPublication",
    "CredentialsSupplier",
    "FailureReason",
    "FixedCredentials",
    "MergeState",
    "OpenReplay",
    "PersistentStream",
    "PersistentSubscription",
    "PersistentSubscriptionError",
    "RecordingDescriptor",
    "RecordingEventsPoller",
    "RecordingFollower",
    "RecordingPosition",
    "RecordingProgress",
    "RecordingSignal",
    "RecordingSignalEvent",
    "RecordingStarted",
    "RecordingStopped",
    "RecordingSubscriptionDescriptor",
    "ReplayMerge",
    "ReplayParams",
    "ReplicationParams",
    "SessionProxy",
    "SessionState",
    "SimpleAuthenticator",
    "SimpleAuthorisationService",
    "SourceLocation",
    "describe_recording_counter",
    "find_counter_id_by_recording",
    "find_counter_id_by_session",
    "is_recording_active",
    "recording_positions",
    "segment_file_base_position",
]

_MODULES = {
    "aerowire.archive.archive": ("Archive",),
    "aerowire.archive.client.aeron_archive": ("AeronArchive",),
    "aerowire.archive.client.async_connect": (
        "AsyncConnect",
        "ConnectState",
    ),
    "aerowire.archive.client.composite_commands": ("ContinuedPublication",),
    "aerowire.archive.client.context": ("ArchiveClientContext",),
    "aerowire.archive.client.control_session": ("SessionState",),
    "aerowire.archive.client.credentials": (
        "CredentialsSupplier",
        "FixedCredentials",
    ),
    "aerowire.archive.client.descriptors": (
        "RecordingDescriptor",
        "RecordingSignalEvent",
        "RecordingSubscriptionDescriptor",
    ),
    "aerowire.archive.client.persistent.event_log": ("ArchiveEventLog",),
    "aerowire.archive.client.parameters": (
        "NULL_POSITION",
        "REPLAY_ALL_AND_FOLLOW",
        "REPLAY_ALL_AND_STOP",
        "ReplayParams",
        "ReplicationParams",
    ),
    "aerowire.archive.client.persistent.stream": (
        "FROM_LIVE",
        "FROM_START",
        "FailureReason",
        "PersistentStream",
        "PersistentSubscriptionError",
    ),
    "aerowire.archive.client.persistent.subscription": ("PersistentSubscription",),
    "aerowire.archive.client.recording_events": (
        "RecordingEventsPoller",
        "RecordingProgress",
        "RecordingStarted",
        "RecordingStopped",
    ),
    "aerowire.archive.client.recording_follower": ("RecordingFollower",),
    "aerowire.archive.client.recording_pos": (
        "RecordingPosition",
        "describe_recording_counter",
        "find_counter_id_by_recording",
        "find_counter_id_by_session",
        "is_recording_active",
        "recording_positions",
    ),
    "aerowire.archive.client.replay_commands": ("OpenReplay",),
    "aerowire.archive.client.replay_merge": (
        "MergeState",
        "ReplayMerge",
    ),
    "aerowire.archive.client.segments": ("segment_file_base_position",),
    "aerowire.archive.context": (
        "ArchiveContext",
        "ArchiveThreadingMode",
    ),
    "aerowire.codecs.flyweights.archive.enums": (
        "RecordingSignal",
        "SourceLocation",
    ),
    "aerowire.codecs.tables.archive_errors": ("ArchiveErrorCode",),
    "aerowire.security.authentication": (
        "Authenticator",
        "ChallengeAuthenticator",
        "SessionProxy",
        "SimpleAuthenticator",
    ),
    "aerowire.security.authorisation": (
        "ALLOW_ALL",
        "DENY_ALL",
        "AuthorisationRule",
        "AuthorisationService",
        "SimpleAuthorisationService",
    ),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
