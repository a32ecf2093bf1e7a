"""Drivers that a case has for itself: started as it needs them, ended as it likes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from aerowire.codecs.tables.options import OPTIONS
from aerowire.conformance.harness.bench import Bench
from aerowire.conformance.model import NotSupported
from aerowire.conformance.peers.base import Peer, PeerError, started


def variant_of(bench: Bench, options: Mapping[str, str]) -> Peer:
    """Return a driver of the same kind with more options, which is not started. Raises NotSupported where the suite starts none."""
    try:
        return bench.peer.variant({OPTIONS[name].property: value for name, value in options.items()})
    except PeerError as error:
        raise NotSupported("a driver of the case's own", str(error)) from None


@contextmanager
def own_driver(bench: Bench, options: Mapping[str, str]) -> Iterator[Peer]:
    """Start a driver of the same kind with more options, for this case alone."""
    with started(variant_of(bench, options)) as twin:
        yield twin
