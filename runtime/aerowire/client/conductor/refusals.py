"""What the driver refused, as an exception: the wire's error code chooses the class.

Each class is a RegistrationError and also what the same mistake raises when it is found without a driver, so that either can be caught.
"""

from __future__ import annotations

from aerowire.base.errors import (
    ChannelError,
    ChannelValueError,
    CountersFullError,
    PortInUseError,
    RegistrationError,
    SocketError,
    StorageSpaceError,
    UnknownChannelKeyError,
    UnknownHostError,
)
from aerowire.codecs.tables.errors import ErrorCode


class RefusedChannelError(RegistrationError, ChannelError):
    """The driver finds a channel invalid, or in conflict with a stream that exists."""


class RefusedChannelKeyError(RefusedChannelError, UnknownChannelKeyError):
    """The driver does not know a parameter of a channel."""


class RefusedChannelValueError(RefusedChannelError, ChannelValueError):
    """The driver finds a value of a channel's parameter impossible."""


class RefusedHostError(RegistrationError, UnknownHostError):
    """The driver cannot resolve a host name in a channel."""


class RefusedStorageError(RegistrationError, StorageSpaceError):
    """The driver has no room for the files of a stream."""


class RefusedSocketError(RegistrationError, SocketError):
    """The driver's operating system refused the socket of a channel."""


class RefusedPortError(RegistrationError, PortInUseError):
    """The UDP port of a channel is bound by somebody else."""


class RefusedCounterError(RegistrationError, CountersFullError):
    """The driver's counters buffer is full."""


_CLASSES: dict[int, type[RegistrationError]] = {
    ErrorCode.INVALID_CHANNEL: RefusedChannelError,
    ErrorCode.UNKNOWN_HOST: RefusedHostError,
    ErrorCode.STORAGE_SPACE: RefusedStorageError,
    ErrorCode.CHANNEL_ENDPOINT_ERROR: RefusedSocketError,
}

# Codes that stand for several mistakes; the official drivers tell them apart in the text only.
_BY_TEXT: tuple[tuple[int | None, str, type[RegistrationError]], ...] = (
    (None, "address already in use", RefusedPortError),
    (None, "no port of the wildcard range", RefusedPortError),
    (None, "cannot bind udp socket", RefusedSocketError),
    (None, "cannot assign requested address", RefusedSocketError),
    (None, "unknownhost", RefusedHostError),
    (None, "unresolved", RefusedHostError),
    (None, "unable to allocate counter", RefusedCounterError),
    (None, "counters buffer is full", RefusedCounterError),
    (None, "no space left", RefusedStorageError),
    (None, "insufficient usable storage", RefusedStorageError),
    # Our driver names the channel whose value it cannot take; the code alone says nothing.
    (ErrorCode.GENERIC_ERROR, "; at aeron:", RefusedChannelValueError),
)

_HINTS: dict[type[RegistrationError], str] = {
    RefusedPortError: "choose another port, or 0 to let the system choose; see who holds it with `ss -lunp`",
    RefusedStorageError: "free some space, or use a shorter term-length or a sparse log (sparse=true)",
    RefusedCounterError: "raise aeron.counters.buffer.length of the driver",
    RefusedHostError: "check the spelling and that the driver's machine resolves the name",
}


def endpoint_failure(text: str, stream: object) -> SocketError:
    """Return the exception for what has befallen the socket of an open stream: older drivers tell it by its status counter's id."""
    return SocketError("the driver's channel endpoint has failed", where=stream, actual=text)


def refusal(error_code: int, text: str, what: str) -> RegistrationError:
    """Return the exception for an error response to the command `what`."""
    lowered = text.lower()
    kind = next(
        (kind for code, part, kind in _BY_TEXT if part in lowered and code in {None, error_code}),
        _CLASSES.get(error_code, RegistrationError),
    )
    try:
        name = ErrorCode(error_code).name
    except ValueError:
        name = str(error_code)
    hint = None if "(hint: " in text else _HINTS.get(kind)  # our driver gives its own
    return kind(f"the driver refused to {what}", where="driver", actual=f"{name}: {text}", hint=hint, error_code=error_code)
