"""Error log entries for damage to the two command buffers, which any process that may write to the driver's directory can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.base.errors import DamagedBufferError

if TYPE_CHECKING:
    from aerowire.driver.conductor.driver_core import DriverCore
    from aerowire.ipc.damage import Damage


def report_skipped_commands(core: DriverCore) -> None:
    """Record what the reader of the to-driver buffer has skipped or set back."""
    damage = core.to_driver.take_damage()
    if damage is not None:
        _record(core, damage, f"the to-driver buffer was damaged ({damage.field}); commands were skipped", "other clients' commands")


def repair_to_clients(core: DriverCore) -> None:
    """Set back what another process has written over the positions of the to-clients buffer: without them no new client can connect."""
    damage = core.to_clients.repair()
    if damage is not None:
        _record(core, damage, f"the to-clients buffer was damaged ({damage.field}) and is repaired", "the driver's messages")


def _record(core: DriverCore, damage: Damage, text: str, overwritten: str) -> None:
    core.errors.record(
        DamagedBufferError(
            text,
            where=f"position {damage.offset} of {CNC_FILE_NAME}",
            expected=damage.expected,
            actual=damage.actual,
            hint=f"a process that may write to the driver's directory wrote over {overwritten}",
        ),
        key=(DamagedBufferError, text),
    )
