"""Options of archive and cluster resolve as the driver's do: keyword, property, environment, default; tests/driver has the driver's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from aerowire.base.errors import ConfigurationError, UnknownOptionError, WrongTypeError
from aerowire.base.options import options_of, parse_definitions, resolve_options
from aerowire.codecs.tables.option import Option

COMPONENTS = ("archive", "archive-client", "consensus-module", "cluster-service", "cluster-client", "cluster-backup", "cluster-tool")
EVERY = [(component, name) for component in COMPONENTS for name in options_of({component})]
S, MS = 1_000_000_000, 1_000_000


def resolved(
    component: str,
    properties: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
) -> dict[str, object]:
    return dict(resolve_options({component}, overrides or {}, properties or {}, environ or {}))


def texts(option: Option) -> Sequence[tuple[str, object]]:
    """Texts of up to three values, and the values."""
    if option.choices:
        return [(choice.lower(), choice) for choice in option.choices][:3]
    match option.kind:
        case "size":
            return [("64k", 65536), ("128k", 131072), ("1m", 1 << 20)]
        case "duration_ns":
            return [("7s", 7 * S), ("8ms", 8 * MS), ("9", 9)]
        case "bool":
            return [("true", True), ("false", False), ("true", True)]
        case "int":
            return [("41", 41), ("-42", -42), ("43", 43)]
    return [("a", "a"), ("b", "b"), ("c", "c")]


@pytest.mark.parametrize(("component", "name"), EVERY)
def test_keyword_goes_before_property_before_environment(component: str, name: str) -> None:
    option = options_of({component})[name]
    (first, one), (second, two), (third, three) = (*texts(option), *texts(option))[:3]
    environ, properties = {option.env: first}, {option.property: second}
    assert resolved(component, {}, environ)[name] == one
    assert resolved(component, properties, environ)[name] == two
    assert resolved(component, properties, environ, {name: third})[name] == three
    assert resolved(component, properties, environ, {name: three})[name] == three
    assert type(resolved(component, {}, environ)[name]) is type(one)


@pytest.mark.parametrize("component", COMPONENTS)
def test_other_components_are_not_part_of_it(component: str) -> None:
    names = set(resolved(component))
    assert "mtu_length" not in names
    assert ("dir" in names) == (component != "cluster-tool")
    with pytest.raises(UnknownOptionError, match="mtu_length"):
        resolved(component, overrides={"mtu_length": 1})


def test_a_default_of_the_driver_s_is_found_where_the_driver_s_is_set() -> None:
    for component in ("archive", "archive-client"):
        assert resolved(component)["control_mtu_length"] == 1408
        assert resolved(component, {"aeron.mtu.length": "8k"})["control_mtu_length"] == 8192
        assert resolved(component, {}, {"AERON_MTU_LENGTH": "4k"})["control_mtu_length"] == 4096
        both = {"aeron.mtu.length": "8k", "aeron.archive.control.mtu.length": "1k"}
        assert resolved(component, both)["control_mtu_length"] == 1024
    assert resolved("archive")["replay_linger_timeout_ns"] == 5 * S
    assert resolved("archive", {"aeron.publication.linger.timeout": "2s"})["replay_linger_timeout_ns"] == 2 * S


def test_idle_strategies_of_the_agents_follow_that_of_the_archive() -> None:
    backoff = "org.agrona.concurrent.BackoffIdleStrategy"
    assert {resolved("archive")[name] for name in ("idle_strategy", "recorder_idle_strategy", "replayer_idle_strategy")} == {backoff}
    found = resolved("archive", {"aeron.archive.recorder.idle.strategy": "yield"}, overrides={"idle_strategy": "noop"})
    assert (found["recorder_idle_strategy"], found["replayer_idle_strategy"]) == ("yield", "noop")


def test_sync_level_of_a_cluster_s_files_is_the_archive_s_unless_it_is_set() -> None:
    archive, own = {"aeron.archive.file.sync.level": "1"}, {"aeron.cluster.file.sync.level": "2"}
    levels = [resolved("consensus-module", given)["file_sync_level"] for given in ({}, archive, own, archive | own)]
    assert levels == [0, 1, 2, 2]


def test_one_property_has_a_default_for_each_part_of_a_snapshot() -> None:
    names = ("consensus_module_snapshot_stream_id", "service_snapshot_stream_id")
    assert [resolved("cluster-backup")[name] for name in names] == [107, 106]
    assert [resolved("cluster-backup", {"aeron.cluster.snapshot.stream.id": "9"})[name] for name in names] == [9, 9]
    assert resolved("consensus-module")[names[0]] == 107
    assert resolved("cluster-service")[names[1]] == 106
    assert names[1] not in resolved("consensus-module")


def test_the_property_without_aeron_s_name_is_known() -> None:
    name = "cluster.backup.initial.replay.start"
    assert parse_definitions([f"{name}=latest_snapshot"]) == {name: "latest_snapshot"}
    assert resolved("cluster-backup", {name: "latest_snapshot"})["backup_initial_replay_start"] == "LATEST_SNAPSHOT"
    with pytest.raises(UnknownOptionError, match=rf"did you mean '{name}'"):
        parse_definitions([f"{name}s=BEGINNING"])


@pytest.mark.parametrize(
    ("component", "prefix", "meant"),
    [("archive", "aeron.archive.", "dir"), ("archive-client", "aeron.archive.", "dir"), ("consensus-module", "aeron.cluster.", "members")],
)
def test_unknown_properties_of_a_component_s_own_are_errors(component: str, prefix: str, meant: str) -> None:
    with pytest.raises(UnknownOptionError, match=f"there is no such option.*{prefix}{meant}x.*did you mean '{prefix}{meant}'"):
        resolved(component, {f"{prefix}{meant}x": "1"})


@pytest.mark.parametrize(
    ("component", "others"),
    [
        ("archive", ["aeron.cluster.whatever", "aeron.cluster.tutorial.hostnames"]),
        ("driver", ["aeron.cluster.whatever", "aeron.archive.whatever"]),
        ("client", ["aeron.cluster.whatever", "aeron.archive.whatever"]),
        ("cluster-client", ["aeron.archive.dir", "aeron.sample.messages", "agrona.disable.bounds.checks", "mine"]),
        ("consensus-module", ["aeron.cluster.tutorial.hostnames", "aeron.mtu.length", "aeron.secure.random.algorithm"]),
    ],
)
def test_properties_of_others_pass(component: str, others: list[str]) -> None:
    assert resolved(component, dict.fromkeys(others, "1")) == resolved(component)


@pytest.mark.parametrize(
    ("component", "name", "value", "error"),
    [
        ("archive", "segment_file_length", "64q", ConfigurationError),
        ("archive", "threading_mode", "SHARED_NETWORK", ConfigurationError),
        ("archive", "max_concurrent_replays", 1.5, WrongTypeError),
        ("consensus-module", "accept_standby_snapshots", 1, WrongTypeError),
        ("consensus-module", "election_timeout_ns", "soon", ConfigurationError),
        ("cluster-backup", "backup_source_type", "NONE", ConfigurationError),
    ],
)
def test_values_of_another_form_are_refused(component: str, name: str, value: object, error: type[Exception]) -> None:
    option = options_of({component})[name]
    with pytest.raises(error, match=f"{name}|{option.property}"):
        resolved(component, overrides={name: value})


def test_an_option_of_two_tables_has_one_name_for_each_reader() -> None:
    assert {"archive_dir", "control_channel", "event_log", "dir", "thread_naming"} < set(options_of({"archive"}))
    assert options_of({"archive"})["control_channel"].property == "aeron.archive.control.channel"
    assert options_of({"cluster-service"})["control_channel"].property == "aeron.cluster.control.channel"
    assert options_of({"consensus-module"})["local_control_channel"].property == "aeron.archive.local.control.channel"
