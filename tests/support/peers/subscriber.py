"""Our client taking a number of messages; the twin of the interop suite's Subscriber.java.

Prints their hash as one JSON object and stays until its standard input ends; a message too many changes the hash.
Orders: `pause` and `resume` polling, `reject REASON` of every image, `state` to tell what became of images as the event `state`,
`add-destination URI`, `remove-destination URI`. `destinations=` names those to begin with, separated by spaces.
With `images=true` it tells of each image that comes or goes. `way=` says how to poll (polling.py); with `checks=true` every frame's
reserved value is its checksum. With `client=asyncio` it is in_loop.py that subscribes;
with `client=invoked` the client has no threads.
"""

from __future__ import annotations

import json
import sys
import threading
import time

from aerowire.client import Aeron, Image, Subscription
from tests.support.peers.orders import Orders
from tests.support.peers.payloads import ContentHash, arguments
from tests.support.peers.polling import Polling

SLEEP_S = 20e-6
QUIET_S = 0.2


class Subscriber:
    """What the peer has got so far, and whether it polls now."""

    def __init__(self, given: dict[str, str]) -> None:
        self.tells_images = given.get("images") == "true"
        self.content = ContentHash()
        self.polling = Polling(given.get("way", "plain"), self.content, checks=given.get("checks") == "true")
        self.is_paused = False
        self.subscription: Subscription | None = None
        self.gone = self.ended = self.revoked = 0
        self.end_position = -1  # that of the last image that went at its end
        self._lock = threading.Lock()

    def orders(self, aeron: Aeron) -> Orders:
        return Orders(
            {
                "pause": self._pause,
                "resume": self._resume,
                "reject": self._reject,
                "resolve": self._tell_resolved,
                "state": self._tell_state,
                "add-destination": self.add_destination,
                "remove-destination": self._remove_destination,
            },
            aeron.conductor_agent_invoker,
        )

    def add_destination(self, channel: str) -> None:
        assert self.subscription is not None
        self.subscription.add_destination(channel)

    def _remove_destination(self, channel: str) -> None:
        assert self.subscription is not None
        self.subscription.remove_destination(channel)

    def _tell_resolved(self, _rest: str) -> None:
        assert self.subscription is not None
        found = {"endpoint": self.subscription.resolved_endpoint, "channel": self.subscription.try_resolve_channel_endpoint_port()}
        print(json.dumps({"event": "resolved", **found, "addresses": self.subscription.local_socket_addresses}), flush=True)

    def on_unavailable(self, image: Image) -> None:
        with self._lock:
            self.gone += 1
            self.ended += image.is_end_of_stream
            self.revoked += image.is_publication_revoked
            if image.is_end_of_stream:
                self.end_position = image.end_of_stream_position
        self.on_image(False)

    def _reject(self, reason: str) -> None:
        assert self.subscription is not None
        for image in self.subscription.images:
            image.reject(reason)

    def _tell_state(self, _rest: str) -> None:
        images = 0 if self.subscription is None else self.subscription.image_count
        with self._lock:
            told = {"images": images, "gone": self.gone, "ended": self.ended, "revoked": self.revoked, "end": self.end_position}
        print(json.dumps({"event": "state", **told}), flush=True)

    def on_image(self, is_there: bool) -> None:
        if self.tells_images:
            print(json.dumps({"event": "image", "available": is_there}), flush=True)

    def _pause(self, _rest: str) -> None:
        self.is_paused = True

    def _resume(self, _rest: str) -> None:
        self.is_paused = False


def main() -> int:
    given = arguments()
    if given.get("client") == "asyncio":
        import asyncio

        from tests.support.peers import in_loop

        asyncio.run(in_loop.subscribe(given))
        return 0
    messages = int(given["messages"])
    deadline = time.monotonic() + float(given["timeout"])
    state = Subscriber(given)
    with (
        Aeron.connect(
            aeron_dir=given["dir"],
            use_conductor_agent_invoker=given.get("client") == "invoked",
            available_image_handler=lambda _image: state.on_image(True),
            unavailable_image_handler=state.on_unavailable,
        ) as aeron,
        aeron.add_subscription(given["channel"], int(given["stream"])) as subscription,
    ):
        state.subscription = subscription
        for destination in given.get("destinations", "").split():
            state.add_destination(destination)
        orders = state.orders(aeron)
        print(json.dumps({"role": "subscriber", "ready": True, "registration_id": subscription.registration_id}), flush=True)
        while state.content.messages < messages:
            orders.obey()
            if state.is_paused or state.polling(subscription) == 0:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{state.content.messages} of {messages} messages")
                time.sleep(SLEEP_S)
        quiet = time.monotonic() + QUIET_S
        while time.monotonic() < quiet:
            if state.polling(subscription) == 0:
                time.sleep(SLEEP_S)
        print(json.dumps({"role": "subscriber", **state.content.fields(), **state.polling.counts}), flush=True)
        while orders.obey():
            time.sleep(0.001)
    return 0


if __name__ == "__main__":
    sys.exit(main())
