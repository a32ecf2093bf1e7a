"""Authorisation services: whether a principal may ask for an action. Aeron: AuthorisationService, SimpleAuthorisationService."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


class AuthorisationService(Protocol):
    """Permits or refuses requests: `protocol_id` is the schema's id, `action_id` the template's."""

    def is_authorised(self, protocol_id: int, action_id: int, action_type: object, encoded_principal: bytes, /) -> bool:
        """Return whether the principal may do that."""


@dataclass(frozen=True, slots=True)
class UniformAuthorisation:
    """The same answer to every request."""

    is_allowed: bool

    def is_authorised(self, _protocol_id: int, _action_id: int, _action_type: object, _encoded_principal: bytes, /) -> bool:
        """Return the one answer."""
        return self.is_allowed


ALLOW_ALL = UniformAuthorisation(True)
DENY_ALL = UniformAuthorisation(False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorisationRule:
    """A permission or a prohibition for actions of a protocol.

    It holds for one principal or, with None, for all; for one action or all of the protocol; for one type of that action or all.
    """

    protocol_id: int
    is_allowed: bool
    action_id: int | None = None
    action_type: object = None
    principal: bytes | None = None

    def __post_init__(self) -> None:
        if self.action_type is not None and self.action_id is None:
            raise ValueError("a rule for a type needs the action that the type is of")


class SimpleAuthorisationService:
    """Decides by rules: those for the principal before those for all, and the narrower before the wider; else by a default."""

    def __init__(self, rules: Iterable[AuthorisationRule], default: AuthorisationService = DENY_ALL) -> None:
        """Of two rules that hold for the same, a permission for a type goes before a prohibition; else the later rule holds."""
        self._default = default
        self._rules: dict[tuple[bytes | None, int, int | None, object], bool] = {}
        for rule in rules:
            key = rule.principal, rule.protocol_id, rule.action_id, rule.action_type
            is_for_type = rule.action_type is not None
            self._rules[key] = rule.is_allowed or (is_for_type and self._rules.get(key, False))

    def is_authorised(self, protocol_id: int, action_id: int, action_type: object, encoded_principal: bytes, /) -> bool:
        """Return whether the rules, or the default, permit an action."""
        actions: list[tuple[int | None, object]] = [(action_id, None), (None, None)]
        if action_type is not None:
            actions.insert(0, (action_id, action_type))
        for principal in (encoded_principal, None):
            for action, kind in actions:
                found = self._rules.get((principal, protocol_id, action, kind))
                if found is not None:
                    return found
        return self._default.is_authorised(protocol_id, action_id, action_type, encoded_principal)
