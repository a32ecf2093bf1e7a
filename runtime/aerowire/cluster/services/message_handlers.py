"""Methods of a service that handle one kind of message of a generated schema each.

class Exchange(ClusteredService):
    @handles(NewOrder)
    def on_new_order(self, session, order, at): ...
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from aerowire.base.errors import ClusterServiceError, ConfigurationError
from aerowire.codecs.support.errors import SbeError

if TYPE_CHECKING:
    from aerowire.cluster.services.client_session import ClientSession

Method = TypeVar("Method", bound=Callable[..., Any])
Handler = Callable[["ClientSession | None", bytes, int], object]

HANDLED, RESTORED = "handled_kinds", "restored_kinds"
_TEMPLATE_ID_INDEX, _SCHEMA_ID_INDEX = 1, 2


@runtime_checkable
class _Decoder(Protocol):
    """A generated decoder."""

    SBE_TEMPLATE_ID: int
    SBE_SCHEMA_ID: int

    def wrap_and_apply_header(self, buffer: bytes, offset: int = 0) -> object: ...


def handles(*kinds: type) -> Callable[[Method], Method]:
    """Have a method called as `method(self, session, message, at)` for messages of these kinds.

    A kind is a generated class: the data class of a message (`NewOrder`), of which the method gets an object with all fields, or its
    decoder (`NewOrderDecoder`), which is the same object each time and reads a field when it is asked for. Messages that no method handles
    go to `on_session_message`. One that is damaged is an error that is recorded, on every member.
    """
    return _marking(HANDLED, kinds)


def restores(*kinds: type) -> Callable[[Method], Method]:
    """Have a method called as `method(self, record)` for the records of these kinds in a snapshot; kinds as for `handles`."""
    return _marking(RESTORED, kinds)


def has_marked_methods(service: object, mark: str) -> bool:
    """Return whether a service has methods with `handles` (HANDLED) or `restores` (RESTORED)."""
    return bool(_marked(service, mark))


class MessageTable:
    """The methods of a service with one mark, by the messages that they are for."""

    def __init__(self, service: object, mark: str) -> None:
        """Raises ConfigurationError for a message with two methods, and for schemas whose message headers differ."""
        self._methods: dict[tuple[int, int], tuple[type, Callable[[bytes], Any], Callable[..., object]]] = {}
        header = None
        for name, kinds in _marked(service, mark).items():
            for kind in kinds:
                decoder, found = _decoder_of(kind), _header_of(kind)
                if header is not None and _form(found) != _form(header):
                    raise _wrong("messages of one service have headers of two forms", name, "schemas with the same message header", kind)
                header = found
                key = decoder.SBE_SCHEMA_ID, decoder.SBE_TEMPLATE_ID
                if key in self._methods:
                    raise _wrong("two methods are for the same message", name, "one method for each message", kind)
                decode = getattr(kind, "decode", None) or decoder().wrap_and_apply_header
                self._methods[key] = kind, decode, getattr(service, name)
        if header is None:
            raise _wrong("no method is for a message", type(service).__name__, "a method with @handles or @restores", type(service))
        self._unpack, self._header_length = header.unpack, header.size

    def find(self, message: bytes) -> tuple[Callable[..., object], Any] | None:
        """Return the method for a message, and what the message says; None where there is none. ClusterServiceError for a damaged one."""
        if len(message) < self._header_length:
            return None
        numbers = self._unpack(message, 0)
        found = self._methods.get((numbers[_SCHEMA_ID_INDEX], numbers[_TEMPLATE_ID_INDEX]))
        if found is None:
            return None
        kind, decode, method = found
        try:
            return method, decode(message)
        except SbeError as error:
            raise ClusterServiceError(
                "a message to the service is damaged", where=kind.__name__, expected=f"a {kind.__name__}", actual=str(error)
            ) from None

    def missing(self, message: bytes) -> ClusterServiceError:
        """Return the error that no method is for a message."""
        actual = f"a message of {len(message)} bytes"
        if len(message) >= self._header_length:
            numbers = self._unpack(message, 0)
            actual = f"schema {numbers[_SCHEMA_ID_INDEX]} template {numbers[_TEMPLATE_ID_INDEX]}"
        expected = ", ".join(f"schema {schema} template {template}" for schema, template in sorted(self._methods))
        return ClusterServiceError(
            "no method of the service is for a message", where="@handles, @restores", expected=expected, actual=actual
        )


class MessageHandlers:
    """What is called in place of `on_session_message`: the method for each message."""

    def __init__(self, service: object, otherwise: Handler | None) -> None:
        """`otherwise` gets the messages of other kinds; without it, one is an error. Raises ConfigurationError."""
        self._table = MessageTable(service, HANDLED)
        self._otherwise = otherwise

    def __call__(self, session: ClientSession | None, message: bytes, at: int) -> None:
        """Handle a message. Raises ClusterServiceError for one that is damaged, or that nothing handles."""
        found = self._table.find(message)
        if found is not None:
            found[0](session, found[1], at)
        elif self._otherwise is not None:
            self._otherwise(session, message, at)
        else:
            raise self._table.missing(message)


def _marking(mark: str, kinds: tuple[type, ...]) -> Callable[[Method], Method]:
    for kind in kinds:
        _decoder_of(kind)

    def put(method: Method) -> Method:
        setattr(method, mark, (*getattr(method, mark, ()), *kinds))
        return method

    return put


def _marked(service: object, mark: str) -> dict[str, tuple[type, ...]]:
    """Return the names of a service's marked methods, with their kinds."""
    kind = type(service)
    return {name: getattr(getattr(kind, name), mark) for name in dir(kind) if hasattr(getattr(kind, name, None), mark)}


def _decoder_of(kind: Any) -> Any:
    """Return the decoder of a generated class. Raises ConfigurationError."""
    found = kind if isinstance(kind, _Decoder) else getattr(sys.modules.get(kind.__module__), f"{kind.__name__}Decoder", None)
    if not isinstance(found, _Decoder):
        raise _wrong("this is no message of a generated schema", "@handles", "a generated data class or decoder", kind)
    return found


def _header_of(kind: type) -> Any:
    package = kind.__module__.rpartition(".messages.")[0]
    return importlib.import_module(f"{package}.header").HEADER


def _form(header: Any) -> tuple[int, object]:
    """Return what tells two forms of a header apart: its length, and which bytes are which number."""
    return header.size, header.unpack(bytes(range(header.size)), 0)


def _wrong(what: str, where: str, expected: str, kind: Any) -> ConfigurationError:
    return ConfigurationError(what, where=where, expected=expected, actual=getattr(kind, "__name__", repr(kind)))
