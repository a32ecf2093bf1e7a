"""The client: publish and subscribe through a media driver.

    from aerowire.client import Aeron

    with Aeron.connect() as aeron, aeron.add_publication("aeron:ipc", 10) as publication:
        publication.send(b"hello")

Publications and images touch shared memory only; everything else goes through the client's conductor to the driver.
"""

from aerowire.base.channel_builder import build_channel, initial_position
from aerowire.base.channel_uri import ChannelUri
from aerowire.client.aeron import Aeron
from aerowire.client.conductor.driver_connection import AsyncConnect, ConnectState
from aerowire.client.conductor.driver_events_adapter import PublicationErrorFrame
from aerowire.client.conductor.driver_files import (
    driver_file_page_size,
    is_driver_active,
    next_correlation_id,
    print_error_log,
    request_driver_termination,
    save_error_log,
)
from aerowire.client.context import ClientContext
from aerowire.client.handles.counter import Counter
from aerowire.client.handles.readable_counter import ReadableCounter
from aerowire.client.handles.waiting import Pending, wait_for
from aerowire.client.publications.claim import BufferClaim
from aerowire.client.publications.publication import (
    ADMIN_ACTION,
    BACK_PRESSURED,
    CLOSED,
    MAX_POSITION_EXCEEDED,
    NOT_CONNECTED,
    ExclusivePublication,
    Publication,
    error_string,
)
from aerowire.client.subscriptions.actions import Action
from aerowire.client.subscriptions.assembler import FragmentAssembler, ImageFragmentAssembler
from aerowire.client.subscriptions.batch import FragmentBatch
from aerowire.client.subscriptions.block import Block
from aerowire.client.subscriptions.controlled_assembler import ControlledFragmentAssembler, ImageControlledFragmentAssembler
from aerowire.client.subscriptions.header import Header
from aerowire.client.subscriptions.image import Image
from aerowire.client.subscriptions.subscription import Subscription

__all__ = [
    "ADMIN_ACTION",
    "BACK_PRESSURED",
    "CLOSED",
    "MAX_POSITION_EXCEEDED",
    "NOT_CONNECTED",
    "Action",
    "Aeron",
    "AsyncConnect",
    "Block",
    "BufferClaim",
    "ChannelUri",
    "ClientContext",
    "ConnectState",
    "ControlledFragmentAssembler",
    "Counter",
    "ExclusivePublication",
    "FragmentAssembler",
    "FragmentBatch",
    "Header",
    "Image",
    "ImageControlledFragmentAssembler",
    "ImageFragmentAssembler",
    "Pending",
    "Publication",
    "PublicationErrorFrame",
    "ReadableCounter",
    "Subscription",
    "build_channel",
    "driver_file_page_size",
    "error_string",
    "initial_position",
    "is_driver_active",
    "next_correlation_id",
    "print_error_log",
    "request_driver_termination",
    "save_error_log",
    "wait_for",
]
