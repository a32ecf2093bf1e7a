"""Events of archive and cluster, as their options name them; those of the driver are in tests/driver/event_log."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from aerowire.base.errors import ConfigurationError
from aerowire.base.event_selection import ARCHIVE_EVENTS, CLUSTER_EVENTS, EventVocabulary
from aerowire.base.options import resolve_options
from aerowire.codecs.flyweights.events import ArchiveEventCode, ClusterEventCode

COMPONENTS = [
    ("archive", ARCHIVE_EVENTS, ArchiveEventCode),
    ("archive-client", ARCHIVE_EVENTS, ArchiveEventCode),
    ("consensus-module", CLUSTER_EVENTS, ClusterEventCode),
    ("cluster-backup", CLUSTER_EVENTS, ClusterEventCode),
]


@pytest.mark.parametrize(("scope", "events", "codes"), COMPONENTS, ids=lambda value: value if isinstance(value, str) else "")
def test_property_environment_and_keyword_select(scope: str, events: EventVocabulary[Any], codes: type[enum.IntEnum]) -> None:
    name = f"aeron.event.{events.component}.log"
    environ = {name.upper().replace(".", "_"): "START"}

    def selected(properties: dict[str, str], **overrides: object) -> frozenset[enum.IntEnum]:
        return frozenset(events.selected(resolve_options({scope}, overrides, properties, environ)))

    start = codes["START"]
    assert selected({}) == {start}
    assert selected({name: "all"}) == frozenset(codes)
    assert selected({name: "all", f"{name}.disable": f"{start.value}, {codes(12).name}"}) == frozenset(codes) - {start, codes(12)}
    assert selected({name: "all"}, event_log="none") == frozenset()
    assert selected({name: "all"}, event_log_disable="ALL") == frozenset()
    assert not events.selected(resolve_options({scope}, {}, {}, environ={}))


def test_names_of_one_component_are_unknown_to_another() -> None:
    with pytest.raises(ConfigurationError, match=r"aeron.event.archive.log; expected events with commas between, all, or none; got 'VOTE'"):
        ARCHIVE_EVENTS.selected({"event_log": "VOTE", "event_log_disable": ""})
    with pytest.raises(
        ConfigurationError, match=r"aeron.event.cluster.log.disable;.*got 'CATALOG_RESIZE'.*`aerowire events --codes cluster`"
    ):
        CLUSTER_EVENTS.selected({"event_log": "all", "event_log_disable": "CATALOG_RESIZE"})


@pytest.mark.parametrize("word", ["admin", "0xffff", "13", "start"])
def test_what_only_the_driver_has_or_nothing_is_called_is_refused(word: str) -> None:
    with pytest.raises(ConfigurationError, match=f"no event has this name or number.*got '{word}'"):
        CLUSTER_EVENTS.parse(word, "here")


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match=r"did you mean ELECTION_STATE_CHANGE\?"):
        CLUSTER_EVENTS.parse("ELECTION_STATE_CHANG", "here")
