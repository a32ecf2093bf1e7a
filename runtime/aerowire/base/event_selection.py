"""Which events a component notes in its event log: the language of the options that select them. Aeron: EventConfiguration.parseEventCodes.

Driver, archive and cluster have the same language, each with its own events and its own options.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from typing import Final, Generic, TypeVar

from aerowire.base.errors import ConfigurationError
from aerowire.codecs.flyweights.events import ArchiveEventCode, ClusterEventCode
from aerowire.codecs.tables import archive_options, cluster_options
from aerowire.codecs.tables.option import Option

Code = TypeVar("Code", bound=enum.IntEnum)

_MASK = re.compile(r"0x[0-9a-fA-F]+")


class EventVocabulary(Generic[Code]):
    """The events of a component, the words that name them, and the two options that select them.

    A word is an event's name or number, `all`, `none`, one of `sets`, or one of `other_names`. A word such as 0x3 is a mask where there are
    `masks`: of each bit, the events that it asks for; a mask of `mask_all` or more asks for all events. `never_noted` are the events that
    have a name and that nothing notes, with the reason.
    """

    def __init__(
        self,
        component: str,
        codes: type[Code],
        *,
        enabled: Option,
        disabled: Option,
        sets: Mapping[str, frozenset[Code]] | None = None,
        other_names: Mapping[str, frozenset[Code]] | None = None,
        masks: Sequence[tuple[int, frozenset[Code]]] = (),
        mask_all: int = 0,
        never_noted: Mapping[Code, str] | None = None,
    ) -> None:
        self.component = component
        self.all = frozenset(codes)
        self.enabled, self.disabled = enabled, disabled
        self.never_noted = never_noted or {}
        self._codes = codes
        self._sets = {"all": self.all, "none": frozenset[Code](), **(sets or {})}
        self._other_names = other_names or {}
        self._masks = masks
        self._mask_all = mask_all

    def selected(self, values: Mapping[str, object]) -> frozenset[Code]:
        """Return the events that resolved options select: those that are enabled and not disabled. Raises ConfigurationError."""
        enabled, disabled = (self.parse(str(values[option.name] or ""), option.property) for option in (self.enabled, self.disabled))
        return enabled - disabled

    def parse(self, text: str, where: str) -> frozenset[Code]:
        """Return the events that the words of `text` name, with commas between.

        Raises ConfigurationError, with `where`, for an unknown word.
        """
        codes: set[Code] = set()
        for word in filter(None, (word.strip() for word in text.split(","))):
            codes |= self._codes_of(word, where)
        return frozenset(codes)

    def _codes_of(self, word: str, where: str) -> frozenset[Code]:
        if word.lower() in self._sets:
            return self._sets[word.lower()]
        if word in self._other_names:
            return self._other_names[word]
        if self._masks and _MASK.fullmatch(word):
            mask = int(word, 16)
            return self.all if mask >= self._mask_all else frozenset().union(*(codes for bits, codes in self._masks if mask & bits))
        try:
            return frozenset({self._codes(int(word)) if word.isdecimal() else self._codes[word]})
        except (KeyError, ValueError):
            from difflib import get_close_matches  # slow to load, and only a mistake needs it

            close = get_close_matches(word.upper(), [*self._codes.__members__, *map(str.upper, self._sets)], n=1)
            raise ConfigurationError(
                "no event has this name or number",
                where=where,
                expected=f"events with commas between, {', '.join(name for name in self._sets if name != 'none')}, or none",
                actual=repr(word),
                hint=f"did you mean {close[0]}?" if close else f"`aerowire events --codes {self.component}` lists them",
            ) from None


ARCHIVE_EVENTS: Final = EventVocabulary(
    "archive",
    ArchiveEventCode,
    enabled=archive_options.OPTIONS["event_log"],
    disabled=archive_options.OPTIONS["event_log_disable"],
)
CLUSTER_EVENTS: Final = EventVocabulary(
    "cluster",
    ClusterEventCode,
    enabled=cluster_options.OPTIONS["event_log"],
    disabled=cluster_options.OPTIONS["event_log_disable"],
    never_noted={ClusterEventCode.DYNAMIC_JOIN_STATE_CHANGE_UNUSED: "members do not join any more"},
)
