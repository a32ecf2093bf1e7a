"""Sending that waits: tries an offer again until the publication takes it, and says in an exception why it did not.

Knows results of offers and time; nothing of logs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from aerowire.base import arguments
from aerowire.base.errors import BackPressureError, MaxPositionExceededError, NotConnectedError

if TYPE_CHECKING:
    from aerowire.client.publications.publication_base import PublicationBase

# Longer than a subscriber takes to be found (a setup each 100 ms), and about as long as a person waits before looking for a fault.
SEND_TIMEOUT_NS = 5_000_000_000

# What a subscriber that is running needs to catch up; beyond that the thread sleeps between its tries.
SPINS = 100
SLEEP_MIN_NS = 10_000
SLEEP_MAX_NS = 1_000_000


def send_waiting(publication: PublicationBase, attempt: Callable[[], int], result: int, timeout: int | str | None) -> int:
    """Call `attempt` until it returns a position, and return that; `result` is what the first one returned."""
    timeout_ns = None if timeout is None else arguments.duration_ns("timeout_ns", timeout)
    waiting = publication._waiting
    deadline_ns = None if timeout_ns is None else waiting.now_ns() + timeout_ns
    tries, sleep_ns = 0, SLEEP_MIN_NS
    while result <= 0:
        if result == publication.MAX_POSITION_EXCEEDED:
            raise MaxPositionExceededError(
                "the stream is at its end",
                where=publication,
                expected=f"a position below {publication.max_possible_position}",
                actual=publication.position,
                hint="add a publication with another session, or with a longer term-length",
            )
        if deadline_ns is not None and waiting.now_ns() >= deadline_ns:
            raise _timeout(publication, result, timeout_ns)
        publication._wait_for_driver()
        tries += 1
        if tries > SPINS and result != publication.ADMIN_ACTION:
            waiting.sleep(sleep_ns)
            sleep_ns = min(sleep_ns * 2, SLEEP_MAX_NS)
        result = attempt()
    return result


def send_all(publication: PublicationBase, messages: Any, timeout: int | str | None) -> None:
    """Send every message of a sequence or array; the deadline begins anew with each batch that is taken."""
    require_batch(messages, publication)
    sent = 0
    while sent < len(messages):
        attempt = functools.partial(publication.offer_many, messages[sent:] if sent else messages)
        sent += send_waiting(publication, attempt, attempt(), timeout)


def require_batch(messages: object, where: object) -> None:
    """Raise WrongTypeError for what has no messages one after the other, or cannot be divided into parts."""
    if isinstance(messages, Mapping) or not (hasattr(messages, "__len__") and hasattr(messages, "__getitem__")):
        raise arguments.wrong_type("messages", messages, "a sequence of buffers, or an array", where)


def _timeout(publication: PublicationBase, result: int, timeout_ns: int | None) -> Exception:
    seconds = f"{(timeout_ns or 0) / 1e9:g} s"
    if result == publication.NOT_CONNECTED:
        return NotConnectedError(
            "no subscriber",
            where=publication,
            expected=f"one within {seconds}",
            actual="none",
            hint="start a subscriber of the same channel and stream; for UDP see that its endpoint is this channel's",
        )
    return BackPressureError(
        "the subscribers do not keep up",
        where=publication,
        expected=f"room within {seconds}",
        actual=f"position {publication.position} with a limit of {publication.position_limit}",
        hint="poll faster, or use a longer term-length; a subscriber that does not poll holds the stream back until it is closed",
    )
