"""The ends of a measurement through pyzmq: see measure.py. Sockets over `ipc://`, with pyzmq's defaults and no high-water mark."""

from __future__ import annotations

import hashlib
import tempfile
import time
from array import array
from itertools import repeat
from pathlib import Path

import zmq

from aerowire.tools.measure.measure import STALL_LIMIT_S, Plan, check_is_measured, ready, stalled

TIMEOUT_MS = int(STALL_LIMIT_S * 1000)


def ping(plan: Plan) -> array[int]:
    """Measure round trips: see measure.Peer."""
    message = bytes(plan.length)
    samples = array("q", bytes(8 * plan.messages))
    clock = time.perf_counter_ns
    with zmq.Context() as context, _socket(context, zmq.PAIR) as socket:
        socket.connect(_address(plan))
        send, receive = socket.send, socket.recv
        for index in range(-plan.warmup, plan.messages):
            begin = clock()
            send(message)
            _taken(receive)
            if index >= 0:
                samples[index] = clock() - begin
    return samples


def pong(plan: Plan) -> None:
    """Answer: see measure.Peer."""
    with zmq.Context() as context, _socket(context, zmq.PAIR) as socket:
        socket.bind(_address(plan))
        ready(plan)
        send, receive = socket.send, socket.recv
        for _ in repeat(None, plan.messages + plan.warmup):
            send(_taken(receive))


def publish(plan: Plan) -> None:
    """Send: see measure.Peer."""
    message = bytes(plan.length)
    with zmq.Context() as context, _socket(context, zmq.PUSH) as socket:
        socket.connect(_address(plan))
        send = socket.send
        for _ in repeat(None, plan.messages):
            send(message)


def receive(plan: Plan) -> float:
    """Take in: see measure.Peer."""
    with zmq.Context() as context, _socket(context, zmq.PULL) as socket:
        socket.bind(_address(plan))
        ready(plan)
        take = socket.recv
        _taken(take)
        begin = time.perf_counter_ns()
        for _ in repeat(None, plan.messages - 1):
            take()
        elapsed_ns = time.perf_counter_ns() - begin
        check_is_measured(plan.messages - 1, plan.messages)
        return (plan.messages - 1) / (elapsed_ns / 1e9)


def _socket(context: zmq.Context[zmq.Socket[bytes]], kind: int) -> zmq.Socket[bytes]:
    socket = context.socket(kind)
    socket.set(zmq.SNDHWM, 0)
    socket.set(zmq.RCVHWM, 0)
    socket.set(zmq.RCVTIMEO, TIMEOUT_MS)
    socket.set(zmq.LINGER, TIMEOUT_MS)
    return socket


def _taken(receive: object) -> bytes:
    try:
        return receive()  # type: ignore[operator,no-any-return]
    except zmq.Again:
        raise stalled("pyzmq") from None


def _address(plan: Plan) -> str:
    name = hashlib.sha256(plan.aeron_dir.encode()).hexdigest()[:16]
    return f"ipc://{Path(tempfile.gettempdir()) / f'aerowire-measure-{name}'}"
