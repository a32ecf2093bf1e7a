"""Answers and news of the driver that say otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aerowire.codecs.flyweights.commands import (
    CommandType,
    ErrorResponseDecoder,
    ErrorResponseEncoder,
    PublicationErrorFrameEncoder,
    PublicationReadyEncoder,
    SubscriptionReadyEncoder,
)
from aerowire.codecs.tables.errors import ErrorCode
from tests.conformance.injector import Announce


def of_errors(*, count: int = 1, **changes: Any) -> Announce:
    """Announce every error frame so many times, with some of it changed."""

    def announce(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
        if type_id != CommandType.ON_PUBLICATION_ERROR:
            return [(type_id, body)]
        changed = bytearray(body)
        for name, value in changes.items():
            setattr(PublicationErrorFrameEncoder(changed), name, value)
        return [(type_id, bytes(changed))] * count

    return announce


def accept_everything() -> Announce:
    """Take every command: answer an error with the last publication, or with a subscription where there is none."""
    publications: list[bytes] = []

    def announce(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
        if type_id in (CommandType.ON_EXCLUSIVE_PUBLICATION_READY, CommandType.ON_PUBLICATION_READY):
            publications.append(body)
        if type_id != CommandType.ON_ERROR:
            return [(type_id, body)]
        correlation_id = ErrorResponseDecoder(body).offending_correlation_id
        if not publications:
            return [(CommandType.ON_SUBSCRIPTION_READY, SubscriptionReadyEncoder.encode(correlation_id=correlation_id))]
        ready = bytearray(publications[-1])
        PublicationReadyEncoder(ready).correlation_id = correlation_id
        return [(CommandType.ON_EXCLUSIVE_PUBLICATION_READY, bytes(ready))]

    return announce


def refuse_otherwise(code: int = ErrorCode.GENERIC_ERROR) -> Announce:
    """Refuse with another code."""

    def announce(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
        changed = bytearray(body)
        if type_id == CommandType.ON_ERROR:
            ErrorResponseEncoder(changed).error_code = code
        yield type_id, bytes(changed)

    return announce
