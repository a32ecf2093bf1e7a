from enum import IntEnum
from typing import final

class EventType(IntEnum):
    CREATE_IMAGE = 1
    IMAGE_LINGER = 2
    IMAGE_DONE = 3
    IMAGE_REMOVED = 4
    PUBLICATION_LINGER = 5
    PUBLICATION_DONE = 6
    PUBLICATION_REMOVED = 7
    SUBSCRIBER_LINKED = 8
    SUBSCRIBER_UNLINKED = 9
    CLIENT_TIMEOUT = 10
    SEND_ENDPOINT_REMOVED = 11
    RECEIVE_ENDPOINT_REMOVED = 12
    COMMANDS_BLOCKED = 13
    PUBLICATION_ERROR = 14
    NATIVE_ERROR = 15
    RECEIVE_DESTINATION_REMOVED = 16
    RESPONSE_SETUP = 17
    RESPONSE_CONNECTED = 18
    SEND_NAME_SILENT = 19
    CONTROL_NAME_SILENT = 20
    SUBSCRIBER_UNAVAILABLE = 21
    SUBSCRIBER_AVAILABLE = 22
    SUBSCRIBER_DROPPED = 23
    COOL_DOWN_OVER = 24
    MALFORMED_FRAME = 25

class NativeErrorCode(IntEnum):
    SEND_FAILED = 1
    RECEIVE_FAILED = 2
    SESSION_LIMIT = 3
    TABLE_FULL = 4
    IMAGE_LIMIT = 5
    IMAGE_RATE = 6
    SETUP_REQUESTS = 7
    RECEIVERS_FULL = 8
    RETRANSMIT_RATE = 9
    END_DISBELIEVED = 10

    @property
    def text(self) -> str: ...

class Event:
    type: EventType
    subject: object
    control_address: tuple[str, int] | None
    source_address: tuple[str, int] | None
    message: str
    session_id: int
    stream_id: int
    initial_term_id: int
    active_term_id: int
    term_offset: int
    term_length: int
    mtu: int
    flags: int
    ttl: int
    transport_index: int
    revoked: int
    position_id: int
    position: int
    registration_id: int
    accepted: int
    client_id: int
    heartbeat_counter_id: int
    closed: int
    receiver_id: int
    group_tag: int
    error_code: int
    destination_registration_id: int
    response_session_id: int
    frame_length: int
    room: int
    code: int
    a: int
    b: int
    def describe(self) -> str: ...

@final
class EventQueue:
    def __init__(self, capacity: int = 1024) -> None: ...
    def wake(self) -> None: ...
    def fileno(self) -> int: ...
    def sleep(self, timeout_ns: int) -> bool: ...
    def is_pending(self) -> bool: ...
    def poll(self, limit: int = 64) -> list[Event]: ...
    @property
    def held_count(self) -> int: ...
