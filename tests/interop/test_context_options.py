"""Options of official contexts, as the installed jar has them, against the recorded table that our own are compared with."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

import pytest

from aerowire.base.options import options_of
from aerowire.codecs.tables.option import Option
from tests.interop.harness import Java
from tests.support.official_options import UNTOLD, official_options
from tests.support.processes import LIMIT_S

pytestmark = pytest.mark.interop

COMPONENTS = ("archive", "archive-client", "consensus-module", "cluster-service", "cluster-client", "cluster-backup", "cluster-tool")
# Members have to have endpoints, the member itself among them; idle strategies have to be classes of that kind.
ENDPOINTS = "a:1,b:2,c:3,d:4,e:5"
GIVEN = {
    "aeron.cluster.members": f"7,{ENDPOINTS}",
    "aeron.cluster.member.id": "7",
    "aeron.cluster.member.endpoints": ENDPOINTS,
    "aeron.cluster.consensus.channel": "aeron:udp?endpoint=x:1",
    "aeron.archive.idle.strategy": "org.agrona.concurrent.YieldingIdleStrategy",
    "aeron.archive.recorder.idle.strategy": "org.agrona.concurrent.NoOpIdleStrategy",
    "aeron.archive.replayer.idle.strategy": "org.agrona.concurrent.BusySpinIdleStrategy",
    "aeron.cluster.idle.strategy": "org.agrona.concurrent.SleepingMillisIdleStrategy",
}
# What has no text for a value: a class that is of another kind, which the complaint about it names.
OF_CLASSES = {
    "aeron.archive.authenticator.supplier": "java.util.ArrayList",
    "aeron.archive.authorisation.service.supplier": "java.util.LinkedList",
    "aeron.cluster.authenticator.supplier": "java.util.HashSet",
    "aeron.cluster.authorisation.service.supplier": "java.util.TreeSet",
    "aeron.cluster.consensus.module.extension": "java.util.HashMap",
    "aeron.cluster.service.class.name": "java.util.TreeMap",
    "aeron.cluster.service.delegating.error.handler": "java.util.Date",
}
MILLISECONDS = {"timeoutMs"}


def another_value(option: Option, number: int) -> str:
    """Return a value that is neither the option's default nor that of another option, as far as its kind has so many."""
    if option.kind == "bool":
        return "false" if option.default else "true"
    if option.kind == "enum":
        return next(choice for choice in reversed(option.choices) if choice != option.default)
    return {"duration_ns": f"{number}ms", "size": str(64 * number), "int": str(number)}.get(option.kind, f"text-{number}")


def run(java: Java, properties: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Return what each getter of each component gives out."""
    command = java.command("ContextOptions", properties=properties)
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return {(component, getter): value for component, getter, value in lines}


def test_official_contexts_have_the_defaults_of_the_table(java: Java) -> None:
    found = run(java, {})
    expected = {(row.component, row.getter): row.default for row in official_options() if row.default not in UNTOLD}
    assert {key: found.get(key) for key in expected} == expected


def test_official_contexts_read_the_properties_of_the_table(java: Java) -> None:
    options = {option.property: option for component in COMPONENTS for option in options_of({component}).values()}
    values = {name: another_value(option, 1000 + number) for number, (name, option) in enumerate(options.items())} | GIVEN | OF_CLASSES
    found = run(java, values)
    for row in official_options():
        value, option = found[row.component, row.getter], options[row.property]
        expected = values[row.property]
        if row.property in OF_CLASSES:
            assert value.startswith(f"! class {expected} cannot be cast"), row
            continue
        if option.kind == "duration_ns":
            expected = expected.removesuffix("ms") + ("" if row.getter in MILLISECONDS else "000000")
        assert value == expected, row
