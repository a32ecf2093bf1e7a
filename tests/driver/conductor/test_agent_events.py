"""Each event that an agent posts has one handler, with a parameter for each value that the agent fills in."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from aerowire.driver.conductor import agent_events
from aerowire.driver.conductor.agent_events import HANDLERS
from aerowire.driver.queues.events import EventType, NativeErrorCode

DRIVER = Path(str(agent_events.__file__)).parents[1]
# What is claimed by way of a table; the second kind has one value more.
BY_STATE = {"SUBSCRIBER_UNAVAILABLE": 2, "SUBSCRIBER_AVAILABLE": 3, "SUBSCRIBER_DROPPED": 2}


def arguments(text: str) -> list[str]:
    """Split the arguments of a call, of which `text` begins behind the parenthesis."""
    depth, parts = 0, [""]
    for character in text:
        if character == ")" and depth == 0:
            break
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def filled() -> dict[str, set[int]]:
    """Return by event how many values those fill in that post it."""
    counts: defaultdict[str, set[int]] = defaultdict(set)
    for path in DRIVER.rglob("*.pyx"):
        text = path.read_text()
        for match in re.finditer(r"\boffer(?:_or_retry)?\((EVENT_\w+)", text):
            values = arguments(text[match.start(1) :])[2:]
            counts[match[1]].add(max([index + 1 for index, value in enumerate(values) if value != "0"], default=0))
        for match in re.finditer(r"\bclaim\((EVENT_\w+|EVENTS\[)", text):
            body = text[match.end() : text.index(".publish(record)", match.end())]
            indexes = [int(index) for index in re.findall(r"record\.values\[(\d+)\] = ", body)]
            assert indexes == list(range(len(indexes))), f"{path}: {match[1]}"
            counts[match[1]].add(len(indexes))
    assert counts.pop("EVENTS[") == {max(BY_STATE.values())}
    counts.update({f"EVENT_{name}": {count} for name, count in BY_STATE.items()})
    return {name.removeprefix("EVENT_"): found for name, found in counts.items()}


def test_each_event_has_one_handler_whose_parameters_are_filled_in() -> None:
    posted = filled()
    assert set(posted) == {kind.name for kind in EventType}
    assert posted == {kind.name: {len(handler.fields)} for kind, handler in HANDLERS.items()}


def test_each_handler_has_an_event() -> None:
    handlers = re.findall(r"^def (on_\w+)\(", Path(str(agent_events.__file__)).read_text(), re.MULTILINE)
    assert sorted(handlers) == sorted(f"on_{kind.name.lower()}" for kind in EventType)


def test_each_text_belongs_to_an_error() -> None:
    assert {*agent_events._ERROR_TEXTS, *agent_events._SOCKET_ERRORS} <= {code.name for code in NativeErrorCode}
