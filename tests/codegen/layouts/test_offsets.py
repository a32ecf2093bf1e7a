"""The IR against the protocol's tables, written down here a second time on purpose: offset and size of every field."""

from __future__ import annotations

import pytest

from aerowire.codegen.project import Project

HEADER = {"frame_length": (0, 4), "version": (4, 1), "flags": (5, 1), "type": (6, 2)}
COMMAND = {"client_id": (0, 8), "correlation_id": (8, 8)}
FILE = {"version": (0, 4), "type": (4, 4), "correlation_id": (8, 8)}
LOG_ENTRY = {
    **{"recording_id": (0, 8), "leadership_term_id": (8, 8), "term_base_log_position": (16, 8), "log_position": (24, 8)},
    **{"timestamp": (32, 8), "service_id": (40, 4), "entry_type": (44, 4)},
}

LAYOUTS: dict[str, dict[str, tuple[int, dict[str, tuple[int, int]]]]] = {
    "transport": {
        "FrameHeader": (8, HEADER),
        "DataHeader": (
            32,
            HEADER | {"term_offset": (8, 4), "session_id": (12, 4), "stream_id": (16, 4), "term_id": (20, 4), "reserved_value": (24, 8)},
        ),
        "Nak": (28, HEADER | {"session_id": (8, 4), "stream_id": (12, 4), "term_id": (16, 4), "term_offset": (20, 4), "length": (24, 4)}),
        "StatusMessage": (
            36,
            HEADER
            | {"session_id": (8, 4), "stream_id": (12, 4), "consumption_term_id": (16, 4), "consumption_term_offset": (20, 4)}
            | {"receiver_window": (24, 4), "receiver_id": (28, 8), "group_tag": (36, 8)},
        ),
        "ErrorFrame": (
            40,
            HEADER
            | {"session_id": (8, 4), "stream_id": (12, 4), "receiver_id": (16, 8), "group_tag": (24, 8)}
            | {"error_code": (32, 4), "error_length": (36, 4)},
        ),
        "Setup": (
            40,
            HEADER
            | {"term_offset": (8, 4), "session_id": (12, 4), "stream_id": (16, 4), "initial_term_id": (20, 4)}
            | {"active_term_id": (24, 4), "term_length": (28, 4), "mtu": (32, 4), "ttl": (36, 4)},
        ),
        "Rttm": (
            40,
            HEADER
            | {"session_id": (8, 4), "stream_id": (12, 4), "echo_timestamp_ns": (16, 8), "reception_delta_ns": (24, 8)}
            | {"receiver_id": (32, 8)},
        ),
        "ResolutionEntry": (8, {"res_type": (0, 1), "res_flags": (1, 1), "udp_port": (2, 2), "age_ms": (4, 4)}),
        "Resolution": (8, HEADER),
        "ResponseSetup": (20, HEADER | {"session_id": (8, 4), "stream_id": (12, 4), "response_session_id": (16, 4)}),
    },
    "logbuffer": {
        "LogMetadata": (
            4096,
            {"tail_counters": (0, 24), "active_term_count": (24, 4), "end_of_stream_position": (128, 8), "is_connected": (136, 4)}
            | {"active_transport_count": (140, 4), "correlation_id": (256, 8), "initial_term_id": (264, 4)}
            | {"default_header_length": (268, 4), "mtu": (272, 4), "term_length": (276, 4), "page_size": (280, 4)}
            | {"publication_window_length": (284, 4), "receiver_window_length": (288, 4), "socket_sndbuf_length": (292, 4)}
            | {"os_default_socket_sndbuf_length": (296, 4), "os_max_socket_sndbuf_length": (300, 4), "socket_rcvbuf_length": (304, 4)}
            | {"os_default_socket_rcvbuf_length": (308, 4), "os_max_socket_rcvbuf_length": (312, 4), "max_resend": (316, 4)}
            | {"default_header": (320, 128), "entity_tag": (448, 8), "response_correlation_id": (456, 8), "linger_timeout_ns": (464, 8)}
            | {"untethered_window_limit_timeout_ns": (472, 8), "untethered_resting_timeout_ns": (480, 8), "group": (488, 1)}
            | {"is_response": (489, 1), "rejoin": (490, 1), "reliable": (491, 1), "sparse": (492, 1), "signal_eos": (493, 1)}
            | {"spies_simulate_connection": (494, 1), "tether": (495, 1), "is_publication_revoked": (496, 1), "type": (497, 1)}
            | {"untethered_linger_timeout_ns": (500, 8)},
        ),
    },
    "cnc": {
        "CncHeader": (
            128,
            {"version": (0, 4), "to_driver_buffer_length": (4, 4), "to_clients_buffer_length": (8, 4)}
            | {"counters_metadata_buffer_length": (12, 4), "counters_values_buffer_length": (16, 4), "error_log_buffer_length": (20, 4)}
            | {"client_liveness_timeout_ns": (24, 8), "start_timestamp_ms": (32, 8), "pid": (40, 8), "file_page_size": (48, 4)},
        ),
        "RingTrailer": (
            768,
            {"tail_position": (128, 8), "head_cache_position": (256, 8), "head_position": (384, 8)}
            | {"correlation_counter": (512, 8), "consumer_heartbeat": (640, 8)},
        ),
        "RingRecord": (8, {"length": (0, 4), "type": (4, 4)}),
        "BroadcastTrailer": (128, {"tail_intent": (0, 8), "tail": (8, 8), "latest": (16, 8)}),
        "BroadcastRecord": (8, {"length": (0, 4), "type": (4, 4)}),
        "CounterValue": (128, {"value": (0, 8), "registration_id": (8, 8), "owner_id": (16, 8), "reference_id": (24, 8)}),
        "CounterMetadata": (
            512,
            {"state": (0, 4), "type_id": (4, 4), "free_for_reuse_deadline_ms": (8, 8), "label_length": (128, 4), "label": (132, 380)},
        ),
        "SystemCounterKey": (4, {"system_counter_id": (0, 4)}),
        "StreamCounterKey": (20, {"registration_id": (0, 8), "session_id": (8, 4), "stream_id": (12, 4), "channel_length": (16, 4)}),
        "ChannelStatusKey": (4, {"channel_length": (0, 4)}),
        "LocalSockaddrKey": (8, {"channel_status_id": (0, 4), "local_sockaddr_length": (4, 4)}),
        "ClientHeartbeatKey": (8, {"client_id": (0, 8)}),
        "BootstrapNeighborKey": (4, {"neighbor_index": (0, 4)}),
        "NameEntryKey": (4, {"entry_name_length": (0, 4)}),
        "ArchiveCounterKey": (8, {"archive_id": (0, 8)}),
        "RecordingPositionKey": (16, {"recording_id": (0, 8), "session_id": (8, 4), "source_identity_length": (12, 4)}),
        "ControlSessionKey": (16, {"archive_id": (0, 8), "control_session_id": (8, 8)}),
        "ClusterCounterKey": (4, {"cluster_id": (0, 4)}),
        "ClusterServiceCounterKey": (8, {"cluster_id": (0, 4), "service_id": (4, 4)}),
        "ClusterSessionKey": (12, {"cluster_id": (0, 4), "cluster_session_id": (4, 8)}),
        "SnapshotRecordingId": (8, {"recording_id": (0, 8)}),
        "RecoveryStateKey": (
            32,
            {"leadership_term_id": (0, 8), "log_position": (8, 8), "timestamp": (16, 8), "cluster_id": (24, 4), "service_count": (28, 4)},
        ),
        "ErrorRecord": (
            24,
            {"length": (0, 4), "observation_count": (4, 4), "last_observation_timestamp_ms": (8, 8)}
            | {"first_observation_timestamp_ms": (16, 8)},
        ),
        "LossRecord": (
            44,
            {"observation_count": (0, 8), "total_bytes_lost": (8, 8), "first_observation_timestamp_ms": (16, 8)}
            | {"last_observation_timestamp_ms": (24, 8), "session_id": (32, 4), "stream_id": (36, 4), "channel_length": (40, 4)},
        ),
    },
    "files": {
        "FileMessage": (16, FILE),
        "FileCreate": (24, FILE | {"file_length": (16, 8)}),
        "FileChunk": (32, FILE | {"chunk_offset": (16, 8), "chunk_length": (24, 8)}),
    },
    "recording_log": dict.fromkeys(("RecordingLogEntry", "TermEntry", "SnapshotEntry", "StandbySnapshotEntry"), (48, LOG_ENTRY)),
    "commands": {
        "CorrelatedCommand": (16, COMMAND),
        "AddPublication": (24, COMMAND | {"stream_id": (16, 4), "channel_length": (20, 4)}),
        "RemovePublication": (24, COMMAND | {"registration_id": (16, 8), "flags": (24, 8)}),
        "AddSubscription": (
            32,
            COMMAND | {"registration_correlation_id": (16, 8), "stream_id": (24, 4), "channel_length": (28, 4)},
        ),
        "RemoveSubscription": (24, COMMAND | {"registration_id": (16, 8)}),
        "ClientKeepalive": (16, COMMAND),
        "DestinationCommand": (28, COMMAND | {"registration_id": (16, 8), "channel_length": (24, 4)}),
        "AddDestination": (28, COMMAND | {"registration_id": (16, 8), "channel_length": (24, 4)}),
        "RemoveDestination": (28, COMMAND | {"registration_id": (16, 8), "channel_length": (24, 4)}),
        "AddRcvDestination": (28, COMMAND | {"registration_id": (16, 8), "channel_length": (24, 4)}),
        "RemoveRcvDestination": (28, COMMAND | {"registration_id": (16, 8), "channel_length": (24, 4)}),
        "AddCounter": (24, COMMAND | {"type_id": (16, 4), "key_length": (20, 4)}),
        "RemoveCounter": (24, COMMAND | {"registration_id": (16, 8)}),
        "ClientClose": (16, COMMAND),
        "TerminateDriver": (20, COMMAND | {"token_length": (16, 4)}),
        "AddStaticCounter": (32, COMMAND | {"registration_id": (16, 8), "type_id": (24, 4), "key_length": (28, 4)}),
        "RejectImage": (36, COMMAND | {"image_correlation_id": (16, 8), "position": (24, 8), "reason_length": (32, 4)}),
        "RemoveDestinationById": (32, COMMAND | {"resource_registration_id": (16, 8), "destination_registration_id": (24, 8)}),
        "GetNextAvailableSessionId": (20, COMMAND | {"stream_id": (16, 4)}),
        "ErrorResponse": (16, {"offending_correlation_id": (0, 8), "error_code": (8, 4), "error_message_length": (12, 4)}),
        "AvailableImage": (
            32,
            {"correlation_id": (0, 8), "session_id": (8, 4), "stream_id": (12, 4), "subscription_registration_id": (16, 8)}
            | {"subscriber_position_counter_id": (24, 4), "log_file_length": (28, 4)},
        ),
        "PublicationReady": (
            36,
            {"correlation_id": (0, 8), "registration_id": (8, 8), "session_id": (16, 4), "stream_id": (20, 4)}
            | {"position_limit_counter_id": (24, 4), "channel_status_counter_id": (28, 4), "log_file_length": (32, 4)},
        ),
        "OperationSuccess": (8, {"correlation_id": (0, 8)}),
        "UnavailableImage": (
            24,
            {"correlation_id": (0, 8), "subscription_registration_id": (8, 8), "stream_id": (16, 4), "channel_length": (20, 4)},
        ),
        "SubscriptionReady": (12, {"correlation_id": (0, 8), "channel_status_counter_id": (8, 4)}),
        "CounterUpdate": (12, {"correlation_id": (0, 8), "counter_id": (8, 4)}),
        "ClientTimeout": (8, {"client_id": (0, 8)}),
        "StaticCounter": (12, {"correlation_id": (0, 8), "counter_id": (8, 4)}),
        "PublicationErrorFrame": (
            68,
            {"registration_id": (0, 8), "destination_registration_id": (8, 8), "session_id": (16, 4), "stream_id": (20, 4)}
            | {"receiver_id": (24, 8), "group_tag": (32, 8), "address_type": (40, 2), "source_port": (42, 2)}
            | {"source_address": (44, 16), "error_code": (60, 4), "error_message_length": (64, 4)},
        ),
        "NextAvailableSessionId": (12, {"correlation_id": (0, 8), "session_id": (8, 4)}),
    },
}


@pytest.mark.parametrize("package", LAYOUTS)
def test_every_struct_is_laid_out_as_the_protocol_says(project: Project, package: str) -> None:
    schema = next(schema for schema in project.schemas if schema.package == package)
    found = {struct.name: (struct.length, {field.name: (field.offset, field.size) for field in struct.fields}) for struct in schema.structs}
    assert found == LAYOUTS[package]


def test_members_that_move_start_where_the_protocol_says(project: Project) -> None:
    found = {
        f"{struct.name}.{member.name}": member.offset
        for schema in project.schemas
        for struct in schema.structs
        for member in (*struct.fixed_variants, *struct.dynamic)
        if struct.parent != "DestinationCommand"
    }
    assert found == {
        "DataHeader.payload": 32,
        "ErrorFrame.error_text": 40,
        "ResolutionEntry.address": 8,
        "ResolutionEntry.name": None,
        "Resolution.entries": 8,
        "RingRecord.body": 8,
        "BroadcastRecord.body": 8,
        "CounterMetadata.key": 16,
        "StreamCounterKey.channel": 20,
        "ChannelStatusKey.channel": 4,
        "LocalSockaddrKey.local_sockaddr": 8,
        "NameEntryKey.entry_name": 4,
        "RecordingPositionKey.source_identity": 16,
        "RecordingPositionKey.archive": None,
        "RecoveryStateKey.snapshots": 32,
        "ErrorRecord.encoded_error": 24,
        "LossRecord.channel": 44,
        "LossRecord.source": None,
        "AddPublication.channel": 24,
        "AddSubscription.channel": 32,
        "DestinationCommand.channel": 28,
        "AddCounter.key": 24,
        "AddCounter.label": None,
        "TerminateDriver.token": 20,
        "AddStaticCounter.key": 32,
        "AddStaticCounter.label": None,
        "RejectImage.reason": 36,
        "ErrorResponse.error_message": 16,
        "AvailableImage.log_file": 32,
        "AvailableImage.source_identity": None,
        "PublicationReady.log_file": 36,
        "UnavailableImage.channel": 24,
        "PublicationErrorFrame.error_message": 68,
        "FrameEvent.frame": 44,
        "ResendEvent.channel": 40,
        "ReceiverEvent.channel": 40,
        "RevokeEvent.channel": 36,
        "CommandEvent.command": 28,
        "StateEvent.text": 20,
        "FileCreate.file_name": 28,
        "FileChunk.payload": 32,
        "StandbySnapshotEntry.archive_endpoint": 52,
    }


def test_types_and_flags_are_numbered_as_the_protocol_says(project: Project) -> None:
    transport = next(schema for schema in project.schemas if schema.package == "transport")
    commands = next(schema for schema in project.schemas if schema.package == "commands")
    types = {value.name: value.value for enum in transport.enums if enum.name == "FrameType" for value in enum.values}
    first = ["PAD", "DATA", "NAK", "SM", "ERR", "SETUP", "RTTM", "RES", "ATS_DATA", "ATS_SETUP", "ATS_SM", "RSP_SETUP"]
    assert types == {name: value for value, name in enumerate(first)} | {"EXT": -1}
    flags = {flags.name: {one.name: one.value for one in (*flags.choices, *flags.combinations)} for flags in transport.sets}
    assert flags == {
        "DataFlags": {"BEGIN": 0x80, "END": 0x40, "EOS": 0x20, "REVOKED": 0x10, "UNFRAGMENTED": 0xC0},
        "SmFlags": {"SEND_SETUP": 0x80, "EOS": 0x40},
        "SetupFlags": {"SEND_RESPONSE": 0x80, "GROUP": 0x40},
        "RttmFlags": {"REPLY": 0x80},
        "ErrorFlags": {"HAS_GROUP_TAG": 0x08},
        "ResFlags": {"SELF": 0x80},
    }
    (command_type,) = (enum for enum in commands.enums if enum.name == "CommandType")
    assert [value.value for value in command_type.values] == [*range(0x01, 0x13), *range(0x0F01, 0x0F0E)]


def test_counter_keys_follow_the_table_of_counter_types(project: Project) -> None:
    cnc = next(schema for schema in project.schemas if schema.package == "cnc")
    (key,) = cnc.struct("CounterMetadata").fixed_variants
    keys = {case.value: case.struct for case in key.cases}
    stream = dict.fromkeys((1, 2, 3, 4, 5, 9, 10, 12, 13, 17, 19, 20), "StreamCounterKey")
    channel = dict.fromkeys((6, 7, 18), "ChannelStatusKey")
    archive = dict.fromkeys(range(101, 113), "ArchiveCounterKey") | {100: "RecordingPositionKey", 113: "ControlSessionKey"}
    cluster = dict.fromkeys((*range(200, 204), 205, *range(207, 214), 216, 217, *range(232, 236), *range(238, 241)), "ClusterCounterKey")
    cluster |= dict.fromkeys((215, 218, 219, 236, 237), "ClusterServiceCounterKey") | {204: "RecoveryStateKey", 241: "ClusterSessionKey"}
    assert keys == stream | channel | archive | cluster | {
        0: "SystemCounterKey",
        11: "ClientHeartbeatKey",
        14: "LocalSockaddrKey",
        21: "BootstrapNeighborKey",
        2001: "NameEntryKey",
    }
