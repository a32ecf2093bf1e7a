"""All fuzz targets, by name. Each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from tests.fuzz.target import Target

_CLASSES = {
    "ring": "tests.fuzz.targets.command_ring:RingTarget",
    "broadcast": "tests.fuzz.targets.command_ring:BroadcastTarget",
    "counters": "tests.fuzz.targets.counters:CountersTarget",
    "error-log": "tests.fuzz.targets.reports:ErrorLogTarget",
    "loss-report": "tests.fuzz.targets.reports:LossReportTarget",
    "log-polls": "tests.fuzz.targets.log_polls:LogPollsTarget",
    "log-metadata": "tests.fuzz.targets.log_metadata:LogMetadataTarget",
    "receiver": "tests.fuzz.targets.receiver:ReceiverTarget",
    "sender": "tests.fuzz.targets.sender:SenderTarget",
    "pcap": "tests.fuzz.targets.captures:CaptureTarget",
    "recordings": "tests.fuzz.targets.recordings:RecordingsTarget",
    "cnc": "tests.fuzz.targets.cnc_header:CncTarget",
    "channel": "tests.fuzz.targets.channels:ChannelTarget",
    "ports": "tests.fuzz.targets.decorated_ports:DecoratedPortTarget",
    "cubic": "tests.fuzz.targets.congestion:CubicTarget",
    "commands": "tests.fuzz.targets.driver_commands:CommandsTarget",
    "sbe": "tests.fuzz.targets.messages:MessageTarget",
    "sbe-json": "tests.fuzz.targets.messages:JsonTarget",
    "sbe-schema": "tests.fuzz.targets.schemas:MessageSchemaTarget",
    "layout-schema": "tests.fuzz.targets.schemas:LayoutSchemaTarget",
    "gossip": "tests.fuzz.targets.gossip:GossipTarget",
}
TARGETS = tuple(_CLASSES)


def make_target(name: str) -> Target:
    """Return a target that is ready to execute."""
    module, _, kind = _CLASSES[name].partition(":")
    target: Target = getattr(import_module(module), kind)()
    assert target.name == name
    return target
