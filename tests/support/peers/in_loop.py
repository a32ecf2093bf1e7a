"""Our asyncio client as publisher and subscriber: what publisher.py and subscriber.py do with `client=asyncio`.

Both tell how often they had to wait, for room and for messages. Only the end of their standard input is an order to them.
"""

from __future__ import annotations

import asyncio
import json
import time

from aerowire import aio
from aerowire.client import BACK_PRESSURED
from tests.support.peers.orders import Orders
from tests.support.peers.payloads import ContentHash, Payloads

QUIET_S = 0.2


async def publish(given: dict[str, str]) -> None:
    """Send every message of a seed and say what was sent."""
    payloads = Payloads(int(given["seed"]), int(given["length-max"]))
    content = ContentHash()
    waits = 0
    async with aio.connect(given["dir"]) as aeron, aeron.add_publication(given["channel"], int(given["stream"])) as publication:
        print(json.dumps({"event": "ready", "session_id": publication.session_id}), flush=True)
        async with asyncio.timeout(float(given["timeout"])):
            await publication.connected()
            started = time.monotonic()
            for _ in range(int(given["messages"])):
                message = payloads.next()
                if (result := publication.offer(message)) < 0:
                    waits += result == BACK_PRESSURED
                    await publication.send(message)
                content.add(message)
                await asyncio.sleep(0)
        told = {
            "role": "publisher",
            **content.fields(),
            "seconds": time.monotonic() - started,
            "back_pressured": waits,
            "position": publication.position,
            "term_length": publication.handle.term_buffer_length,
        }
        print(json.dumps(told), flush=True)
        await _until_released()


async def subscribe(given: dict[str, str]) -> None:
    """Take a number of messages and say what came; one too many changes the hash."""
    content = ContentHash()
    waits = 0
    async with aio.connect(given["dir"]) as aeron, aeron.add_subscription(given["channel"], int(given["stream"])) as subscription:
        print(json.dumps({"role": "subscriber", "ready": True, "registration_id": subscription.handle.registration_id}), flush=True)
        async with asyncio.timeout(float(given["timeout"])):
            while content.messages < int(given["messages"]):
                receiving = asyncio.ensure_future(subscription.receive())
                await asyncio.sleep(0)
                waits += not receiving.done()
                content.add((await receiving).payload)
        try:
            async with asyncio.timeout(QUIET_S):
                async for message in subscription:
                    content.add(message.payload)
        except TimeoutError:
            print(json.dumps({"role": "subscriber", **content.fields(), "waits": waits}), flush=True)
        await _until_released()


async def _until_released() -> None:
    orders = Orders({})
    while orders.obey():
        await asyncio.sleep(0.005)
