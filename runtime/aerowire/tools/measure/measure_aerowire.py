"""The ends of a measurement through aerowire: see measure.py.

The loops are what a user of this library would write for speed: bound methods in local names, no function call in between. A publication
that is closed is drained by its driver.
"""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Callable
from itertools import repeat
from typing import Any

from aerowire.base.errors import AerowireError
from aerowire.base.idle import idle_strategy
from aerowire.client import ADMIN_ACTION, BACK_PRESSURED, ExclusivePublication, FragmentAssembler, Header, Subscription, wait_for
from aerowire.codecs.flyweights.transport import DataHeaderDecoder
from aerowire.codecs.tables.options import OPTIONS
from aerowire.tools.connection import connect
from aerowire.tools.measure.measure import BATCH, SPINS_PER_CHECK, STALL_LIMIT_S, Plan, Watch, check_is_measured, ready, stalled

Handler = Callable[[memoryview, int, int, Header], object]
Poll = Callable[[Handler, int], int]

NAME = "aerowire measure"
FRAGMENT_LIMIT = 256
# A message up to this length comes in one fragment, where the MTU is not below its default.
WHOLE_LENGTH_MAX = int(OPTIONS["mtu_length"].default or 0) - DataHeaderDecoder.ENCODED_LENGTH
CONNECT_SLEEP_MAX_S = 1e-3
RECEIVE_IDLE = "backoff"
IDLES_PER_CHECK = 1 << 10


def ping(plan: Plan) -> array[int]:
    """Measure round trips: see measure.Peer."""
    with (
        connect(NAME, aeron_dir=plan.aeron_dir or None) as aeron,
        aeron.add_subscription(plan.reply_channel, plan.reply_stream_id) as answers,
        aeron.add_exclusive_publication(plan.channel, plan.stream_id) as questions,
    ):
        if not plan.one_thread:
            _await_connected(questions, answers)
            return _trips(plan, questions, answers, os.sched_yield if plan.is_crowded else None)
        with (
            aeron.add_subscription(plan.channel, plan.stream_id) as far_questions,
            aeron.add_exclusive_publication(plan.reply_channel, plan.reply_stream_id) as far_answers,
        ):
            _await_connected(questions, answers)
            _await_connected(far_answers, far_questions)
            handler = _echo(far_answers)
            far_poll = _polling(plan, far_questions, handler, far_answers.max_payload_length)
            return _trips(plan, questions, answers, lambda: far_poll(handler, FRAGMENT_LIMIT))


def pong(plan: Plan) -> None:
    """Answer: see measure.Peer."""
    with (
        connect(NAME, aeron_dir=plan.aeron_dir or None) as aeron,
        aeron.add_subscription(plan.channel, plan.stream_id) as questions,
        aeron.add_exclusive_publication(plan.reply_channel, plan.reply_stream_id) as answers,
    ):
        ready(plan)
        _await_connected(answers, questions)
        handler = _echo(answers)
        poll = _polling(plan, questions, handler, answers.max_payload_length)
        remaining = plan.messages + plan.warmup
        is_crowded = plan.is_crowded
        watch = Watch("pong")
        spins = 0
        while remaining > 0:
            messages = poll(handler, FRAGMENT_LIMIT)
            if messages:
                remaining -= messages
                spins = 0
                continue
            if is_crowded:
                os.sched_yield()
            spins += 1
            if spins == 1:
                watch.progress()
            elif spins % SPINS_PER_CHECK == 0:
                watch.check()


def publish(plan: Plan) -> None:
    """Send: see measure.Peer."""
    with (
        connect(NAME, aeron_dir=plan.aeron_dir or None) as aeron,
        aeron.add_exclusive_publication(plan.channel, plan.stream_id) as publication,
    ):
        _await(lambda: publication.is_connected, "publish")
        (_publish_batches if plan.mode == BATCH else _publish_singly)(plan, publication)


def receive(plan: Plan) -> float:
    """Take in: see measure.Peer."""
    with (
        connect(NAME, aeron_dir=plan.aeron_dir or None) as aeron,
        aeron.add_subscription(plan.channel, plan.stream_id) as subscription,
    ):
        ready(plan)
        poll: Callable[[], int]
        if plan.mode == BATCH and 0 < plan.length <= WHOLE_LENGTH_MAX:
            poll_into, rows = subscription.poll_into, _rows(plan)
            poll = lambda: poll_into(rows)  # noqa: E731
        else:
            poll_handler = _polling(plan, subscription, _discard)
            poll = lambda: poll_handler(_discard, FRAGMENT_LIMIT)  # noqa: E731
        return _count(plan, poll)


def _count(plan: Plan, poll: Callable[[], int]) -> float:
    """Return messages a second. An empty poll is followed by a pause: a reader at the writer's heels takes each cache line away from it."""
    watch = Watch("receive")
    idle = idle_strategy(RECEIVE_IDLE)
    spins = received = first = begin = 0
    total = plan.messages
    while received < total:
        fragments = poll()
        if fragments:
            if not received:
                begin, first = time.perf_counter_ns(), fragments
            received += fragments
            if spins:
                idle(fragments)
                watch.progress()
                spins = 0
            continue
        idle(0)
        spins += 1
        if spins % IDLES_PER_CHECK == 0:
            watch.check()
    elapsed_ns = time.perf_counter_ns() - begin
    check_is_measured(received - first, total)
    return (received - first) / (elapsed_ns / 1e9)


def _polling(plan: Plan, subscription: Subscription, handler: Handler, whole_length_max: int = WHOLE_LENGTH_MAX) -> Poll:
    """Return a `poll(handler, limit)` that returns how many messages came, not fragments; the subscription's own where that is the same."""
    if plan.length <= min(whole_length_max, WHOLE_LENGTH_MAX):
        return subscription.poll
    ends = 0

    def on_message(buffer: memoryview, offset: int, length: int, header: Header) -> None:
        nonlocal ends
        ends += 1
        handler(buffer, offset, length, header)

    assembler, poll = FragmentAssembler(on_message), subscription.poll

    def poll_messages(_handler: Handler, limit: int) -> int:
        before = ends
        poll(assembler, limit)
        return ends - before

    return poll_messages


def _trips(plan: Plan, questions: ExclusivePublication, answers: Subscription, between: Callable[[], object] | None) -> array[int]:
    """Time `warmup + messages` round trips, keep the last `messages`."""
    trips = _paced_trips if plan.rate else _round_trips
    return trips(plan, questions, answers, between)


def _paced_trips(plan: Plan, questions: ExclusivePublication, answers: Subscription, between: Callable[[], object] | None) -> array[int]:
    """Send at the plan's rate and time each answer from when its question was due, however late it was sent.

    A stall then shows in every message that it held up, and not only in the one that met it.
    """
    message = bytes(plan.length)
    samples = array("q", bytes(8 * plan.messages))
    offer, clock = questions.offer, time.perf_counter_ns
    poll = _polling(plan, answers, _discard, questions.max_payload_length)
    total, warmup = plan.messages + plan.warmup, plan.warmup
    interval_ns = 1e9 / plan.rate
    watch = Watch("ping")
    sent = arrived = spins = 0
    start = due = clock()
    while arrived < total:
        now = clock()
        if sent < total and now >= due:
            result = offer(message)
            if result > 0:
                sent += 1
                due = start + int(sent * interval_ns)
            else:
                _require_passing(result)
        came = poll(_discard, FRAGMENT_LIMIT)
        if came:
            now, spins = clock(), 0
            for index in range(arrived, arrived + came):
                if index >= warmup:
                    samples[index - warmup] = now - start - int(index * interval_ns)
            arrived += came
            continue
        if between is not None:
            between()
        spins += 1
        # Time in which nothing is due or on its way is no halt.
        if spins == SPINS_PER_CHECK or sent == arrived:
            watch.progress()
        elif spins % SPINS_PER_CHECK == 0:
            watch.check()
    return samples


def _round_trips(plan: Plan, questions: ExclusivePublication, answers: Subscription, between: Callable[[], object] | None) -> array[int]:
    """Send each message when the one before has come back; `between` is called in each empty turn."""
    message = bytes(plan.length)
    samples = array("q", bytes(8 * plan.messages))
    offer, clock = questions.offer, time.perf_counter_ns
    poll = _polling(plan, answers, _discard, questions.max_payload_length)
    watch = Watch("ping")
    for index in range(-plan.warmup, plan.messages):
        begin = clock()
        while (result := offer(message)) < 0:
            _require_passing(result)
        spins = 0
        while not poll(_discard, 1):
            if between is not None:
                between()
            spins += 1
            if spins == SPINS_PER_CHECK:
                watch.progress()
            elif spins % SPINS_PER_CHECK == 0:
                watch.check()
        if index >= 0:
            samples[index] = clock() - begin
    return samples


def _publish_singly(plan: Plan, publication: ExclusivePublication) -> None:
    message = bytes(plan.length)
    offer = publication.offer
    watch = Watch("publish")
    for _ in repeat(None, plan.messages):
        while offer(message) < 0:
            _back_off(publication, watch)


def _publish_batches(plan: Plan, publication: ExclusivePublication) -> None:
    rows = _rows(plan)
    offer_many = publication.offer_many
    watch = Watch("publish")
    remaining = plan.messages
    while remaining > 0:
        sent = offer_many(rows if remaining >= plan.batch_count else rows[:remaining])
        if sent > 0:
            remaining -= sent
        else:
            _back_off(publication, watch)


def _rows(plan: Plan) -> Any:
    """Return as many messages as one call sends or takes, a row of bytes each."""
    import numpy

    return numpy.zeros((plan.batch_count, max(plan.length, 1)), dtype=numpy.uint8)


def _back_off(publication: ExclusivePublication, watch: Watch) -> None:
    """Wait a moment under back pressure: the driver may need this core to move the limit."""
    if not publication.is_connected:
        raise AerowireError("the other end has gone", where="offer", expected="a subscriber until all is sent")
    watch.check_position(publication.position)
    os.sched_yield()


def _require_passing(result: int) -> None:
    if result not in {ADMIN_ACTION, BACK_PRESSURED}:
        raise AerowireError("the other end has gone", where="offer", actual=ExclusivePublication.error_string(result))


def _echo(answers: ExclusivePublication) -> Handler:
    offer = answers.offer

    def handler(buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        while (result := offer(buffer, offset, length)) < 0:
            _require_passing(result)

    return handler


def _discard(_buffer: memoryview, _offset: int, _length: int, _header: Header) -> None:
    pass


def _await_connected(publication: ExclusivePublication, subscription: Subscription) -> None:
    _await(lambda: publication.is_connected and subscription.is_connected, "connect")


def _await(condition: Callable[[], bool], what: str) -> None:
    if not wait_for(condition, int(STALL_LIMIT_S * 1e9), sleep_max_s=CONNECT_SLEEP_MAX_S):
        raise stalled(what)
