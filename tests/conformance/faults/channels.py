"""Faults of what a driver is asked: channels with other parameters than the case names."""

from __future__ import annotations

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from tests.conformance.injector import Ask


def with_param(old: str, new: str) -> Ask:
    """Ask for publications and subscriptions with a part of the channel replaced."""

    def ask(type_id: int, body: bytes) -> bytes:
        if type_id == CommandType.ADD_SUBSCRIPTION:
            wanted = commands.AddSubscriptionDecoder(body)
            return commands.AddSubscriptionEncoder.encode(
                client_id=wanted.client_id,
                correlation_id=wanted.correlation_id,
                registration_correlation_id=wanted.registration_correlation_id,
                stream_id=wanted.stream_id,
                channel=wanted.channel.replace(old, new),
            )
        if type_id in (CommandType.ADD_PUBLICATION, CommandType.ADD_EXCLUSIVE_PUBLICATION):
            given = commands.AddPublicationDecoder(body)
            return commands.AddPublicationEncoder.encode(
                client_id=given.client_id,
                correlation_id=given.correlation_id,
                stream_id=given.stream_id,
                channel=given.channel.replace(old, new),
            )
        return body

    return ask


DESTINATION_COMMANDS = (
    CommandType.ADD_DESTINATION,
    CommandType.REMOVE_DESTINATION,
    CommandType.ADD_RCV_DESTINATION,
    CommandType.REMOVE_RCV_DESTINATION,
)


def with_destination(old: str, new: str, *types: CommandType) -> Ask:
    """Add and remove destinations, or do one of both, with a part of their channel replaced."""

    def ask(type_id: int, body: bytes) -> bytes:
        if type_id not in (types or DESTINATION_COMMANDS):
            return body
        given = commands.DestinationCommandDecoder(body)
        return commands.DestinationCommandEncoder.encode(
            client_id=given.client_id,
            correlation_id=given.correlation_id,
            registration_id=given.registration_id,
            channel=given.channel.replace(old, new),
        )

    return ask


def with_another_id(type_id: int, body: bytes) -> bytes:
    """Remove a destination by an id that no destination has."""
    if type_id != CommandType.REMOVE_DESTINATION_BY_ID:
        return body
    changed = bytearray(body)
    commands.RemoveDestinationByIdEncoder(changed).destination_registration_id = -1
    return bytes(changed)
