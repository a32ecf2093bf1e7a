"""Faults planted in the archive: each is found by the seeds of its scenario, run by the command in a copy of the tree."""

from __future__ import annotations

from functools import partial

from tests.simulation.planted.planted_transport import Planted

KEPT = "what was acknowledged is there"
UNCHANGED = "replays give back what was recorded"
AGREED = "catalog and segments agree"
ANSWERED = "a sound archive does what it is asked for"
SIGNALLED = "signals arrive"
RECORDED = "what is published is recorded"
STOPPED = "a recording ends where its stream does"

_planted = partial(Planted, scenario="archives", family="archive")
FAULTS = (
    _planted("counter-before-write", rules=(KEPT, RECORDED)),
    _planted("no-sync", rules=(KEPT,)),
    _planted("sync-of-the-wrong-file", rules=(KEPT,)),
    _planted("failed-sync-believed", rules=(KEPT, UNCHANGED)),
    _planted("no-directory-sync", rules=(KEPT,)),
    _planted("checksum-over-the-header", rules=(KEPT, ANSWERED)),
    _planted("replay-beyond-its-bound", rules=("a replay stays within its bound", UNCHANGED)),
    _planted("wrong-offset-behind-a-segment-end", rules=(KEPT, UNCHANGED, ANSWERED)),
    _planted("stop-a-frame-early", rules=(SIGNALLED, STOPPED, ANSWERED, KEPT)),
    _planted("stop-given-up", rules=("once faults have ended everything goes on", AGREED)),
    _planted("failed-block-kept", rules=(AGREED,)),
    _planted("wrong-base-after-an-extension", rules=(AGREED, KEPT, ANSWERED)),
    _planted("extension-in-the-wrong-place", rules=("what does not continue a recording is refused",)),
    _planted("signal-lost", rules=(SIGNALLED,)),
    _planted("torn-frame-trusted", rules=(KEPT, AGREED, ANSWERED)),
    _planted("recovered-end-not-synced", rules=(KEPT,)),
    _planted("purge-of-one-segment-too-many", rules=(KEPT, AGREED, ANSWERED)),
    _planted("truncation-keeps-the-tail", rules=(AGREED,)),
    _planted("copy-ends-early", rules=(STOPPED,)),
    _planted("replay-of-more-than-asked-for", rules=(ANSWERED,)),
    _planted("catalog-not-synced", rules=(KEPT,)),
    _planted("directory-name-not-synced", rules=(KEPT,)),
    _planted("position-told-early", rules=("what is acknowledged was published", KEPT)),
    _planted("truncation-not-finished", scenario="segments", rules=(AGREED,)),
    _planted("migration-taken-back-in-part", scenario="segments", rules=(KEPT, AGREED, UNCHANGED, ANSWERED)),
    _planted("detached-segments-purged-beyond-the-start", scenario="segments", rules=(KEPT, AGREED, UNCHANGED, ANSWERED)),
    _planted("listing-from-the-next", rules=("a listing has what was asked for", ANSWERED, KEPT)),
)
