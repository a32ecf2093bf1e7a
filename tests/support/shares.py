"""How tests are handed to workers that run side by side: file by file, the longest first."""

from __future__ import annotations

import os
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# Files, and single tests of others, that share what is made once for a worker and costs much: one session of Spark, one wheel and its
# environments, one virtual machine with the official SBE tool.
SPARK = (
    "tests/pcap/test_sink.py",
    "tests/pcap/sbe/test_spark.py",
    "tests/codegen/sbe/targets/test_record_batches.py",
    "tests/pcap/spark/test_source.py",
    "tests/pcap/spark/test_stream.py",
    "tests/pcap/spark/test_workers.py",
    "tests/pcap/analysis/test_spark_analysis.py",
    "tests/pcap/archive/test_spark_archive.py",
    "tests/pcap/commands/test_spark.py",
    "tests/pcap/commands/test_replay.py::test_spark_reads_and_one_task_publishes",
    "tests/soak/test_bars.py::test_bar_at_small_size[pcap-splits/spark]",
    "tests/soak/test_bars.py::test_bar_at_small_size[pcap-streaming/captures-and-recordings]",
)
WHEEL = (
    "tests/house/test_wheel.py",
    "tests/house/test_installation.py",
    "tests/house/test_readme.py",
    "tests/house/test_examples.py",
)
ORACLE = (
    "tests/interop/sbe/test_aeron_messages.py",
    "tests/interop/sbe/test_official.py",
    "tests/interop/sbe/test_random_schemas.py",
    "tests/interop/sbe/test_verdicts.py",
)
# Long files whose tests share nothing that costs much.
DIVIDED = (
    "tests/conformance/test_planted_faults.py",
    "tests/soak/test_bars.py",
    "tests/fuzz/test_planted.py",
    "tests/fuzz/test_targets.py",
    "tests/tools/test_signals.py",
    "tests/tools/demo/test_demo.py",
    "tests/pcap/spark/test_submit.py",
)
# Each scenario has drivers and Archives of its own.
SCENARIOS = ("tests/interop/test_", "tests/interop/archive/test_")
# What runs longest is begun first, so that the others end beside it.
FIRST = (
    *SPARK,
    "tests/conformance/test_drivers.py",
    *ORACLE,
    *WHEEL,
    *DIVIDED,
    "tests/interop/cluster/test_mixed_clusters.py",
    "tests/interop/cluster/test_client_failover.py",
    "tests/interop/test_replay.py",
    "tests/interop/test_matrix.py",
    "tests/interop/transport/test_channels.py",
    "tests/tools/measure/test_measure.py",
    "tests/codegen/sbe/targets/test_wireshark_messages.py",
    "tests/codegen/sbe/test_hostile_text.py",
    "tests/conformance/test_suite_can_fail.py",
    "tests/house/test_build.py",
    "tests/client/test_cut_files.py",
    "tests/codegen/test_command.py",
)
# Files whose processes have to act within milliseconds. They stand among the first, when no worker has given way yet.
TIMELY = ("tests/conformance/test_drivers.py", "tests/conformance/test_planted_faults.py")
# The niceness of the other files.
GIVEN_WAY = min(19, os.nice(0) + 5)
_RANKS = {file: rank for rank, file in enumerate(FIRST)}
_SHARES = {**dict.fromkeys(SPARK, "spark"), **dict.fromkeys(WHEEL, "wheel"), **dict.fromkeys(ORACLE, "oracle")}


def rank(item: pytest.Item) -> int:
    """Return the place of a test in the order of beginning; those of one place keep their order."""
    return _RANKS.get(file_of(item.nodeid), len(FIRST))


def give_way(item: pytest.Item) -> None:
    """Let the processes of timely files have the processor first: this worker's, and those it starts, from the first other test on."""
    if file_of(item.nodeid) not in TIMELY and (missing := GIVEN_WAY - os.nice(0)) > 0:
        os.nice(missing)


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


class Shares(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out shares of tests in the order of collection."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        file = file_of(nodeid)
        is_divided = file in DIVIDED or file.startswith(SCENARIOS)
        return _SHARES.get(nodeid) or (nodeid if is_divided else _SHARES.get(file, file))
