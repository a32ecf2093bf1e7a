"""Descriptions of what a hostile sequence can be sent to: receive endpoints, publications and a name resolver."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReceiveTarget:
    """A driver's receive endpoint with subscriptions to `streams`; the generator acts as senders to it.

    Sessions that the generator makes have ids from `first_session` on: no legitimate publication may use those. `weight` is how often
    the target is drawn, compared with others.
    """

    name: str
    streams: tuple[int, ...]
    first_session: int
    senders: int = 2
    weight: int = 8


@dataclass(frozen=True, slots=True)
class SendTarget:
    """A publication with known ids; the generator acts as its receivers, which `receivers` sockets do."""

    name: str
    session_id: int
    stream_id: int
    initial_term_id: int
    term_length: int
    mtu: int
    receivers: int = 1
    group_tag: int | None = None


@dataclass(frozen=True, slots=True)
class ResolverTarget:
    """A driver's name resolver; the generator acts as its neighbours."""

    name: str
    senders: int = 1


Target = ReceiveTarget | SendTarget | ResolverTarget
