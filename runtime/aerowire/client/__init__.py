"""The client: publish and subscribe through a media driver.

    from aerowire.client import Aeron

    with Aeron.connect() as aeron, aeron.add_publication("aeron:ipc", 10) as publication:
        while publication.offer(b"hello") < 0:
            ...

Publications and images touch shared memory only; everything else goes through the client's conductor to the driver.
"""

from aerowire.client.aeron import Aeron
from aerowire.client.assembler import FragmentAssembler
from aerowire.client.batch import FragmentBatch
from aerowire.client.claim import BufferClaim
from aerowire.client.context import ClientContext
from aerowire.client.counter import Counter
from aerowire.client.driver_events import PublicationErrorFrame
from aerowire.client.header import Header
from aerowire.client.image import Block, Image
from aerowire.client.publication import (
    ADMIN_ACTION,
    BACK_PRESSURED,
    CLOSED,
    MAX_POSITION_EXCEEDED,
    NOT_CONNECTED,
    ExclusivePublication,
    Publication,
    error_string,
)
from aerowire.client.subscription import Subscription
from aerowire.client.termination import request_driver_termination
from aerowire.client.waiting import Pending, wait_for

__all__ = [
    "ADMIN_ACTION",
    "BACK_PRESSURED",
    "CLOSED",
    "MAX_POSITION_EXCEEDED",
    "NOT_CONNECTED",
    "Aeron",
    "Block",
    "BufferClaim",
    "ClientContext",
    "Counter",
    "ExclusivePublication",
    "FragmentAssembler",
    "FragmentBatch",
    "Header",
    "Image",
    "Pending",
    "Publication",
    "PublicationErrorFrame",
    "Subscription",
    "error_string",
    "request_driver_termination",
    "wait_for",
]
