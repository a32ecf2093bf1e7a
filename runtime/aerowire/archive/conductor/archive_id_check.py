"""Whether another archive has the same id at the driver: its counters are there, and its client lives. Times are arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.agents.living_owner_check import LivingOwnerCheck
from aerowire.base.errors import ActiveArchiveError
from aerowire.codecs.flyweights.cnc import ArchiveCounterKeyEncoder
from aerowire.codecs.tables.archive_options import OPTIONS
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.ipc.counters import CounterInfo, CountersReader


class ArchiveIdCheck(LivingOwnerCheck):
    """One look at the counters after the other, until an id is known to be free, or is in use: `poll` raises ActiveArchiveError then."""

    def __init__(self, counters: CountersReader, archive_id: int) -> None:
        key = ArchiveCounterKeyEncoder.encode(archive_id=archive_id)

        def is_rival(counter: CounterInfo) -> bool:
            return counter.type_id == CounterType.ARCHIVE_ERROR_COUNT and counter.key.startswith(key)

        def refusal(counter: CounterInfo) -> ActiveArchiveError:
            return ActiveArchiveError(
                "another archive has this id at the driver",
                where=f"counter {counter.counter_id}: {counter.label}",
                expected=f"no archive with id {archive_id}",
                hint=f"choose another {OPTIONS['archive_id'].property}",
            )

        super().__init__(counters, is_rival, refusal)
