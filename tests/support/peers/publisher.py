"""Our client publishing the messages of a seed; the twin of the interop suite's Publisher.java.

Prints what it sent as one JSON object and stays until its standard input ends, so that what was lost can still be
sent again. Orders: `add-destination URI`, `remove-destination URI`, `remove-destination-id URI` (by the id it was given
when it was added), `revoke` (an exclusive one), `close`, `claim LENGTH`, which
leaves the claim open. `destinations=` names those to begin with, separated by spaces;
`per-second=` limits the rate; `patient=true` waits where the last receiver has gone, until there is one again;
`way=` says how to send (offering.py). An error frame of a receiver is the event `error frame`.
With `client=asyncio` it is in_loop.py that publishes; with `client=invoked` the client has no threads.
"""

from __future__ import annotations

import json
import sys
import time

from aerowire.client import (
    ADMIN_ACTION,
    BACK_PRESSURED,
    NOT_CONNECTED,
    Aeron,
    BufferClaim,
    ExclusivePublication,
    Publication,
    PublicationErrorFrame,
)
from aerowire.client.context import Invoker
from tests.support.peers.offering import offering
from tests.support.peers.orders import Orders
from tests.support.peers.payloads import ContentHash, Payloads, arguments

SLEEP_S = 20e-6
CLAIMS: list[BufferClaim] = []  # left open
ORDERS_EVERY = 64


def main() -> int:
    given = arguments()
    if given.get("client") == "asyncio":
        import asyncio

        from tests.support.peers import in_loop

        asyncio.run(in_loop.publish(given))
        return 0
    deadline = time.monotonic() + float(given["timeout"])
    with Aeron.connect(
        aeron_dir=given["dir"],
        publication_error_frame_handler=on_error_frame,
        use_conductor_agent_invoker=given.get("client") == "invoked",
    ) as aeron:
        add = aeron.add_exclusive_publication if given.get("exclusive") == "true" else aeron.add_publication
        with add(given["channel"], int(given["stream"])) as publication:
            orders = orders_of(publication, aeron.conductor_agent_invoker, deadline)
            for destination in given.get("destinations", "").split():
                publication.add_destination(destination)
            print(json.dumps({"event": "ready", "session_id": publication.session_id}), flush=True)
            while not publication.is_connected:
                orders.obey()
                if time.monotonic() > deadline:
                    raise TimeoutError("no subscriber")
                time.sleep(0.001)
            print(json.dumps(publish(publication, given, orders, deadline)), flush=True)
            while orders.obey():
                time.sleep(0.001)
    return 0


def on_error_frame(frame: PublicationErrorFrame) -> None:
    told = {"code": frame.error_code, "text": frame.error_message, "destination": frame.destination_registration_id != -1}
    print(json.dumps({"event": "error frame", **told}), flush=True)


def orders_of(publication: Publication | ExclusivePublication, invoker: Invoker | None, deadline: float) -> Orders:
    ids: dict[str, int] = {}

    def add(uri: str) -> None:
        ids[uri] = publication.add_destination(uri)

    def revoke(_rest: str) -> None:
        assert isinstance(publication, ExclusivePublication)
        publication.revoke()

    def claim(rest: str) -> None:
        while not (claimed := publication.try_claim(int(rest))):
            if claimed.result not in {BACK_PRESSURED, ADMIN_ACTION}:
                raise RuntimeError(f"try_claim returned {claimed.result}")
            if time.monotonic() > deadline:
                raise TimeoutError("no room for a claim")
            time.sleep(SLEEP_S)
        CLAIMS.append(claimed)

    return Orders(
        {
            "add-destination": add,
            "remove-destination": publication.remove_destination,
            "remove-destination-id": lambda uri: publication.remove_destination(ids[uri]),
            "revoke": revoke,
            "claim": claim,
            "close": lambda _rest: publication.close(),
        },
        invoker,
    )


def publish(publication: Publication | ExclusivePublication, given: dict[str, str], orders: Orders, deadline: float) -> dict[str, object]:
    """Send every message, at most `per-second` a second when that is given; return what was sent."""
    payloads = Payloads(int(given["seed"]), int(given["length-max"]))
    interval = 1 / float(given["per-second"]) if "per-second" in given else 0.0
    content = ContentHash()
    offer = offering(given.get("way", "plain"), publication)
    expected = {BACK_PRESSURED, ADMIN_ACTION} | ({NOT_CONNECTED} if given.get("patient") == "true" else set())
    back_pressured = 0
    started = time.monotonic()
    for index in range(int(given["messages"])):
        message = payloads.next()
        if index % ORDERS_EVERY == 0:
            orders.obey()
        while interval and time.monotonic() < started + index * interval:
            time.sleep(SLEEP_S)
        while (result := offer(message, index)) < 0:
            if result not in expected:
                raise RuntimeError(f"offer returned {result} at message {index}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"stuck at message {index}")
            back_pressured += 1
            orders.obey()
            time.sleep(SLEEP_S)
        content.add(message)
    return {
        "role": "publisher",
        **content.fields(),
        "seconds": time.monotonic() - started,
        "back_pressured": back_pressured,
        "position": publication.position,
        "term_length": publication.term_buffer_length,
    }


if __name__ == "__main__":
    sys.exit(main())
