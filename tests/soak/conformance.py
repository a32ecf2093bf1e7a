"""The suite on our driver in every threading mode, and everything that a driver or a socket can do wrong, found by it."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

from aerowire.codecs.tables.options import OPTIONS
from aerowire.conformance.catalogue import GROUPS, all_cases
from aerowire.conformance.model import MACHINE_LACKS
from aerowire.conformance.peers.base import started
from aerowire.conformance.peers.drivers import AerowirePeer, short_timers
from aerowire.conformance.runner import Runner
from tests.conformance.breaking import check_each_swallowed, check_found
from tests.conformance.faults import FAULTS
from tests.soak.bars import Part, Size

SEED = 40
THREADING = ("SHARED", "DEDICATED", "SHARED_NETWORK")


def keep(threading_mode: str, scratch: Path) -> str:
    """Run the whole catalogue on our driver in one threading mode."""
    properties = {**short_timers(), OPTIONS["threading_mode"].property: threading_mode}
    with started(AerowirePeer(properties, scratch / "driver")) as peer:
        results = Runner(peer, seed=SEED).run(all_cases())
    tested = [result for result in results if MACHINE_LACKS not in result.notes]
    verdicts = Counter(result.verdict.value for result in tested)
    assert verdicts == {"pass": len(tested)}, [result.to_dict() for result in tested if result.actual]
    return f"{len(tested)} cases pass"


def find(group: str, scratch: Path) -> str:
    """Find every fault of a group's cases, and every datagram of theirs that goes nowhere."""
    faults = [fault for fault in FAULTS if fault.case_id[0] == group]
    with started(AerowirePeer(short_timers(), scratch / "driver")) as peer:
        for fault in faults:
            check_found(peer, fault, SEED)
        swallowed = sum(check_each_swallowed(peer, case, SEED) for case in all_cases() if case.group == group)
    return f"{len(faults)} faults found, {swallowed} datagrams missed"


def parts(size: Size) -> list[Part]:
    # The small size stands where each case and fault has a name: tests/conformance.
    if size is Size.SMALL:
        return []
    kept = [Part(f"keeps-the-rules-{mode.lower().replace('_', '-')}", SEED, partial(keep, mode)) for mode in THREADING]
    return kept + [Part(f"finds-faults-{group}", SEED, partial(find, group)) for group in GROUPS]
