"""What the ranges of a scenario may be: checked when it is made, so that no seed meets one that cannot be drawn from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from aerowire.base.errors import ConfigurationError
from aerowire.simulation.link_faults import QUEUE_LENGTH_MAX

if TYPE_CHECKING:
    from aerowire.simulation.scenarios.catalogue import AnyScenario
    from aerowire.simulation.scenarios.plan import Scenario

Limits = tuple[float, float]
CHANCE: Limits = (0, 1)
# Of the ranges that have others than OTHER. Hosts have an address each in 10.0.0.0/24, streams a port and a group of their own.
LIMITS: dict[str, Limits] = {
    "hosts": (1, 250),
    "duration_s": (1, 3_600),
    "streams": (0, 100),
    "rate": (1, 1_000_000),
    "length_max": (1, 8_192),  # of a message in terms of 64 KiB
    "queue_length": (0, QUEUE_LENGTH_MAX),
    "loss": CHANCE,
    "duplicate": CHANCE,
    "replay": CHANCE,
    "reorder": CHANCE,
    "send_error": CHANCE,
    "misfortune_s": (0, 3_600),
}
OTHER: Limits = (0, 60_000)
# By the annotations of a scenario's fields: the types of its numbers.
_PAIRS: dict[str, tuple[type, ...]] = {"tuple[int, int]": (int,), "Range": (int, float)}


def check_scenario(scenario: Scenario) -> None:
    """Raise ConfigurationError for a range that is none, or from which no world can be made."""
    check_ranges(scenario, LIMITS)
    if not scenario.media:
        raise _refusal(scenario, "media", "at least one", scenario.media)
    if scenario.misfortune_s[1] > 0 and not scenario.kinds:
        raise _refusal(scenario, "kinds", "at least one where there are misfortunes", scenario.kinds)


def check_ranges(scenario: AnyScenario, limits: Mapping[str, Limits]) -> None:
    """Raise ConfigurationError unless each range of a scenario is one within its limits, and each number a chance."""
    for field in fields(scenario):
        value = getattr(scenario, field.name)
        if field.type in _PAIRS:
            _check_pair(scenario, field.name, value, limits.get(field.name, OTHER), _PAIRS[str(field.type)])
        elif field.type == "float" and not (_is_number(value, (int, float)) and 0 <= value <= 1):
            raise _refusal(scenario, field.name, "a number from 0 to 1", value)


def _check_pair(scenario: AnyScenario, name: str, value: object, limits: Limits, kinds: tuple[type, ...]) -> None:
    numbers = "whole numbers" if kinds == (int,) else "numbers"
    expected = f"two {numbers} within {limits[0]} to {limits[1]}, the least first"
    if not isinstance(value, tuple) or len(value) != 2 or not all(_is_number(number, kinds) for number in value):
        raise _refusal(scenario, name, expected, value)
    if not limits[0] <= value[0] <= value[1] <= limits[1]:
        raise _refusal(scenario, name, expected, value)


def _is_number(value: object, kinds: tuple[type, ...]) -> bool:
    is_nan = isinstance(value, float) and math.isnan(value)
    return isinstance(value, kinds) and not isinstance(value, bool) and not is_nan


def _refusal(scenario: AnyScenario, name: str, expected: str, actual: object) -> ConfigurationError:
    return ConfigurationError(f"{name} cannot be drawn from", where=f"scenario {scenario.name}", expected=expected, actual=repr(actual))
