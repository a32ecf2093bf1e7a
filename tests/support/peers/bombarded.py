"""A client under attack: reads a stream in every way, in an event loop too, and carries two streams of its own beside it.

Arguments: dir, receive and other (the ports of two endpoints), stream, rests (1: for a moment after each round of polls). Says `ready` when
its own streams flow. Ends when standard input does: completes its own streams, then says what it saw. A client that ended by itself says
so and goes.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import select
import sys
import threading
import time
from collections import Counter

from aerowire import aio
from aerowire.base.errors import AerowireError
from aerowire.client import Aeron, Image
from tests.fuzz.grammar.bystander import Bystander
from tests.fuzz.grammar.polls import WAYS, OracleError, Reader
from tests.support.peers.payloads import arguments
from tests.support.waiting import rest

OWN_STREAM, OTHER_STREAM = 2001, 2002
PATIENCE_S = 30.0
WARM_UP_MESSAGES = 50


class Loop:
    """An event loop on a thread of its own that takes the messages of a stream."""

    def __init__(self, directory: str, channel: str, stream: int) -> None:
        self.messages = 0
        self.errors: Counter[str] = Counter()
        self.foreign: list[str] = []
        self._where = directory, channel, stream
        self._loop = asyncio.new_event_loop()
        self._gone = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),), daemon=True)
        self._thread.start()
        self._ready.wait(PATIENCE_S)

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._gone.set)
        self._thread.join(PATIENCE_S)
        if self._thread.is_alive():
            self.foreign.append("the event loop does not end")

    async def _run(self) -> None:
        directory, channel, stream = self._where
        try:
            async with (
                aio.connect(directory, error_handler=self._on_error) as aeron,
                aeron.add_subscription(channel, stream) as subscription,
            ):
                self._ready.set()
                taking = asyncio.ensure_future(self._take(subscription))
                await self._gone.wait()
                taking.cancel()
                await asyncio.gather(taking, return_exceptions=True)
        except AerowireError as error:
            self._on_error(error)
        except Exception as error:
            self.foreign.append(repr(error))
        self._ready.set()

    async def _take(self, subscription: aio.AsyncSubscription) -> None:
        while True:
            try:
                async for _ in subscription:
                    self.messages += 1
                return
            except AerowireError as error:
                self._on_error(error)
                await asyncio.sleep(0.01)

    def _on_error(self, error: BaseException) -> None:
        if isinstance(error, AerowireError):
            self.errors[type(error).__name__] += 1
        else:
            self.foreign.append(repr(error))


class Bombarded:
    """One client with readers of every way and its own two streams."""

    def __init__(self, directory: str, receive: int, other: int, stream: int) -> None:
        self.images: set[int] = set()
        self.gone: set[int] = set()
        self.errors: Counter[str] = Counter()
        self.findings: list[str] = []
        self.ended = ""
        channel, away = (f"aeron:udp?endpoint=127.0.0.1:{port}" for port in (receive, other))
        self.aeron = Aeron.connect(
            directory,
            error_handler=self._on_error,
            available_image_handler=self._on_image,
            unavailable_image_handler=self._on_end,
        )
        is_strict = os.environ.get("AEROWIRE_TEST_LENIENT") is None
        self.readers = [Reader(self.aeron.add_subscription(channel, stream), way, is_strict=is_strict) for way in WAYS]
        own, others = self.aeron.add_subscription(channel, OWN_STREAM), self.aeron.add_subscription(away, OTHER_STREAM)
        self.bystanders = [
            Bystander(self.aeron.add_exclusive_publication(f"{channel}|term-length=64k", OWN_STREAM), own, 1, "poll"),
            Bystander(self.aeron.add_exclusive_publication(f"{away}|term-length=64k", OTHER_STREAM), others, 2, "controlled"),
        ]
        self.loop = Loop(directory, channel, stream)

    def step(self) -> None:
        """Read every stream once and let the own streams go on."""
        for reader in self.readers:
            reader.poll()
        for bystander in self.bystanders:
            bystander.work()

    def complete(self) -> None:
        """Let the own streams arrive."""
        goals = [bystander.sent + WARM_UP_MESSAGES for bystander in self.bystanders]
        deadline = time.monotonic() + PATIENCE_S
        while not all(bystander.received >= goal for bystander, goal in zip(self.bystanders, goals, strict=True)):
            if time.monotonic() > deadline:
                raise OracleError(f"own streams: {[bystander.received for bystander in self.bystanders]} of {goals} messages arrived")
            for reader in self.readers:
                reader.poll()
            for bystander, goal in zip(self.bystanders, goals, strict=True):
                if bystander.sent < goal:
                    bystander.work()
                else:
                    bystander.take()

    def outcome(self) -> dict[str, object]:
        """Return what was seen."""
        errors = self.errors + self.loop.errors
        for reader in self.readers:
            errors.update(reader.errors)
        return {
            "role": "bombarded",
            "images": len(self.images),
            "fragments": sum(reader.fragments for reader in self.readers),
            "messages": self.loop.messages,
            "own": [bystander.received for bystander in self.bystanders],
            "longest_ms": round(max(reader.longest_s for reader in self.readers) * 1e3, 1),
            "errors": dict(errors),
            "ended": self.ended,
            "finding": "; ".join([*self.findings, *self.loop.foreign]),
        }

    def _on_image(self, image: Image) -> None:
        self.images.add(image.correlation_id)

    def _on_end(self, image: Image) -> None:
        self.gone.add(image.correlation_id)

    def _on_error(self, error: BaseException) -> None:
        if isinstance(error, AerowireError):
            self.errors[type(error).__name__] += 1
        else:
            self.findings.append(repr(error))


def standard_input_ended() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def main() -> None:
    faulthandler.enable()
    given = arguments()
    client = Bombarded(given["dir"], int(given["receive"]), int(given["other"]), int(given["stream"]))
    is_ready, is_resting = False, given.get("rests") == "1"
    try:
        while not standard_input_ended():
            client.step()
            if is_resting:
                rest()
            if not is_ready and all(bystander.received > WARM_UP_MESSAGES for bystander in client.bystanders):
                print(json.dumps({"event": "ready"}), flush=True)
                is_ready = True
        client.complete()
    except OracleError as error:
        client.findings.append(str(error))
    except AerowireError as error:
        client.errors[type(error).__name__] += 1
        client.ended = str(error)
    except Exception as error:
        client.findings.append(repr(error))
    client.loop.end()
    print(json.dumps(client.outcome()), flush=True)
    try:
        client.aeron.close()
    except AerowireError as error:
        print(error, file=sys.stderr)


if __name__ == "__main__":
    main()
