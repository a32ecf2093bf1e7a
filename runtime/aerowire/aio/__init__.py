"""The asyncio client: publish and subscribe through a media driver from one event loop.

    from aerowire import aio

    async with aio.connect() as aeron:
        async with aeron.add_subscription("aeron:ipc", 10) as subscription, aeron.add_publication("aeron:ipc", 10) as publication:
            await publication.send(b"hello")
            async for message in subscription:
                print(message.payload)

Beside the threads of the client it has one that watches what the loop waits for. Everything here belongs to the loop that connected.
"""

from aerowire.aio.client import AsyncAeron, connect
from aerowire.aio.counter import AsyncCounter
from aerowire.aio.message import Message
from aerowire.aio.opening import Opening
from aerowire.aio.publication import AsyncExclusivePublication, AsyncPublication
from aerowire.aio.subscription import AsyncSubscription

__all__ = [
    "AsyncAeron",
    "AsyncCounter",
    "AsyncExclusivePublication",
    "AsyncPublication",
    "AsyncSubscription",
    "Message",
    "Opening",
    "connect",
]
