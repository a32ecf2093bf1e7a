"""How damage in a log of records is told: a file that is none at all, and one that is readable up to somewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerowire.base.errors import ForeignDirectoryError

if TYPE_CHECKING:
    from aerowire.ipc.damage import Damage


def damage_text(damage: Damage, name: str) -> str:
    """Return what is wrong; `name` is what it should be: `an error log`."""
    found = f"{damage.field} {damage.actual:,}, expected {damage.expected}"
    return f"not {name}: {found}" if damage.offset == 0 else f"damaged at offset {damage.offset:,}: {found}"


def damage_dict(damage: Damage | None) -> dict[str, Any] | None:
    """Return it for programs."""
    return None if damage is None else damage._asdict()


def require_whole(damage: Damage | None, where: object, name: str) -> None:
    """Raise ForeignDirectoryError for damage, once everything that can be read has been shown."""
    if damage is not None:
        raise ForeignDirectoryError(damage_text(damage, name), where=where)
