"""Things that begin and end at positions of the log, such as sessions, timers and messages: those that there are at a position."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)


class Spans(Generic[KeyT]):
    """The parts of the log in which each of several things is there, in the order of their beginnings. Each begins once."""

    def __init__(self) -> None:
        self._begun: dict[KeyT, int] = {}
        self._ended: dict[KeyT, int] = {}
        self._present: dict[KeyT, int] = {}

    @property
    def present(self) -> list[KeyT]:
        """What has begun and not ended, in order."""
        return list(self._present)

    @property
    def first(self) -> KeyT | None:
        """The first thing that has not ended."""
        return next(iter(self._present), None)

    def has_begun(self, key: KeyT) -> bool:
        """Return whether a thing has ever begun."""
        return key in self._begun

    def is_present(self, key: KeyT) -> bool:
        """Return whether a thing has begun and not ended."""
        return key in self._present

    def begin(self, key: KeyT, position: int) -> None:
        """Let a thing begin at a position."""
        self._begun[key] = self._present[key] = position

    def end(self, key: KeyT, position: int) -> None:
        """Let a thing end at a position."""
        self._ended[key] = position
        del self._present[key]

    def begun_up_to(self, position: int) -> list[KeyT]:
        """Return what has begun up to a position, whether it has ended or not."""
        return [key for key, begun in self._begun.items() if begun <= position]

    def at(self, position: int) -> list[KeyT]:
        """Return what is there behind a position, in order."""
        return [key for key in self.begun_up_to(position) if self._ended.get(key, position + 1) > position]
