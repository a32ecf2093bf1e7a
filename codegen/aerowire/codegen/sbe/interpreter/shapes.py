"""Which message of a schema an object is meant to be, by its keys."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from aerowire.codegen.sbe.interpreter.errors import MessageError

SEEN_MAX = 1_024  # shapes remembered; a stream has as many as messages, and more only where optional keys come and go
SHOWN_MAX = 10  # messages that an error names


@dataclass(frozen=True, slots=True)
class Shape:
    """A message by its keys.  `required` must be there, `extra` may be there in addition to `names`."""

    message: str
    names: frozenset[str]
    required: frozenset[str]
    extra: frozenset[str]


class Shapes:
    """The shapes of all messages of a schema."""

    def __init__(self, shapes: Iterable[Shape]) -> None:
        self._shapes = tuple(shapes)
        self._seen: dict[frozenset[str], str] = {}
        alike: dict[frozenset[str], list[str]] = {}
        for shape in self._shapes:
            alike.setdefault(shape.names, []).append(shape.message)
        # Messages that their keys do not tell apart, even when all of them are there.
        self.ambiguous = frozenset(name for names in alike.values() if len(names) > 1 for name in names)

    def find(self, keys: Collection[str]) -> str:
        """The name of the one message that has these keys.  Raises MessageError when none has them or several have.

        A message of which all keys are there is it, though another may have more that could be left out.
        """
        given = frozenset(keys)
        found = self._seen.get(given)
        if found is None:
            found = self._search(given)
            if len(self._seen) >= SEEN_MAX:
                self._seen.clear()
            self._seen[given] = found
        return found

    def _search(self, given: frozenset[str]) -> str:
        if len(self._shapes) == 1:
            return self._shapes[0].message
        whole = [shape for shape in self._shapes if given - shape.extra == shape.names]
        fitting = whole or [shape for shape in self._shapes if given <= shape.names | shape.extra and shape.required <= given]
        if len(fitting) == 1:
            return fitting[0].message
        if fitting:
            raise MessageError('its keys fit several messages; say which one with "_template"', expected=_listed(fitting))
        raise self._nothing_fits(given)

    def _nothing_fits(self, given: frozenset[str]) -> MessageError:
        if not self._shapes:
            return MessageError("the schema has no messages")
        closest = min(self._shapes, key=lambda shape: (-len(given & shape.names), len(shape.required - given)))
        missing = ", ".join(sorted(closest.required - given)) or "nothing"
        unknown = ", ".join(sorted(given - closest.names - closest.extra))[:200] or "nothing"
        told = f"missing: {missing}; unknown: {unknown}"
        return MessageError("its keys fit no message", expected=f"those of a message, such as {closest.message}", actual=told)


def _listed(shapes: list[Shape]) -> str:
    names = [shape.message for shape in shapes]
    more = f" and {len(names) - SHOWN_MAX} more" if len(names) > SHOWN_MAX else ""
    return f"one of {', '.join(names[:SHOWN_MAX])}{more}"
