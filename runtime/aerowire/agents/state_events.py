"""Events whose record is a text of JSON: changes of state, and what else has named facts. Aeron: ArchiveEventLogger."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.events import EVENT_TEXT_LENGTH_MAX, StateEventEncoder

if TYPE_CHECKING:
    import enum

    from aerowire.agents.event_log import EventLog


class StateEvents:
    """Writes to the event log, if there is one. Any thread."""

    __slots__ = ("log",)

    def __init__(self, log: EventLog | None = None) -> None:
        self.log = log

    def state_change(self, code: enum.IntEnum, old: enum.Enum, new: enum.Enum, **facts: str | int) -> None:
        """A session has changed its state."""
        if self.log is not None and self.log.has(code):
            self.note(code, old_state=old.name, new_state=new.name, **facts)

    def note(self, code: enum.IntEnum, **facts: str | int | bool) -> None:
        """Something has happened, as `facts` tell."""
        if self.log is None or not self.log.has(code):
            return
        text = json.dumps(facts)
        if len(text) > EVENT_TEXT_LENGTH_MAX:
            share = EVENT_TEXT_LENGTH_MAX // len(facts) // 8  # a character takes six bytes at most
            text = json.dumps({name: fact[:share] if isinstance(fact, str) else fact for name, fact in facts.items()})
        self.log.note(code, StateEventEncoder.encode(text=text))
