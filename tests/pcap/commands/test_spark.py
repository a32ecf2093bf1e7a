"""Commands give with `--spark` what they give without; and the command that lists streams."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from aerowire.driver.media_driver import MediaDriver
from aerowire.pcap.analysis.summary import summarise
from aerowire.pcap.commands.shared import DONE, FINDING, UNUSABLE, reason_of, spark_session
from aerowire.pcap.commands.streams import CELLS, SORTS, loss_percent
from aerowire.pcap.errors import CaptureError
from aerowire.tools.main import main

CAPTURES = Path(__file__).parent.parent.parent / "data" / "captures"
LOSSY, MULTICAST = str(CAPTURES / "loss_data_sender_side.pcap"), str(CAPTURES / "loss_multicast.pcap")
SPARK = ["--spark", "local[2]"]
UNRELIABLE = str(CAPTURES / "unreliable_gap_fill.pcap")
COMMANDS = [
    ["summary", LOSSY, "--json"],
    ["summary", MULTICAST],
    ["streams", LOSSY, MULTICAST],
    ["streams", LOSSY, MULTICAST, "--sort", "naks", "--json"],
    ["loss", LOSSY, "--limit", "0"],
    ["loss", UNRELIABLE, "--json"],
    ["frames", LOSSY, "--limit", "7"],
    ["frames", MULTICAST, "--limit", "0", "--json"],
    ["export", LOSSY, MULTICAST, "-", "--format", "csv", "--where", "type in NAK,SM", "--columns", "path,ts_ns,type,position"],
    ["export", LOSSY, "-", "--format", "json", "--payload"],
]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["pcap", *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.parametrize("collect", [lambda frames: frames.count(), lambda frames: list(frames.toLocalIterator(prefetchPartitions=True))])
def test_the_reason_of_a_failed_job_is_found(spark: Any, tmp_path: Path, collect: Callable[[Any], object]) -> None:
    """Python's and Java's stacks are around it; the two ways to results wrap it differently."""
    whole = Path(MULTICAST).read_bytes()
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(whole[:400] + b"\xff" * 60 + whole[400:])
    with pytest.raises(Exception, match="CaptureError") as raised:
        collect(spark.read.format("aeron_pcap").option("mode", "FAILFAST").load(str(damaged)))
    assert re.fullmatch(rf"{damaged}: record header at byte \d+ has an impossible length", reason_of(raised.value))


@pytest.mark.parametrize(("module", "name"), [("pyspark.errors", "PySparkException"), ("py4j.protocol", "Py4JError")])
def test_a_job_that_fails_ends_a_command_with_its_reason_alone(monkeypatch: pytest.MonkeyPatch, module: str, name: str) -> None:
    kind = getattr(pytest.importorskip(module), name)
    stopped: list[str] = []
    monkeypatch.setattr("aerowire.pcap.spark.session", lambda **_: SimpleNamespace(stop=lambda: stopped.append("once")))
    with pytest.raises(CaptureError, match=r"^--spark local\[2\]: a.pcap: gone$"), spark_session("local[2]"):
        raise kind("An exception was thrown from the Python worker:\naerowire.pcap.errors.CaptureError: a.pcap: gone\n\tat org.apache")
    assert stopped == ["once"]


@pytest.mark.parametrize(("module", "name"), [("pyspark.errors", "PySparkException"), ("py4j.protocol", "Py4JError")])
def test_a_session_that_spark_refuses_ends_a_command_with_its_reason_alone(monkeypatch: pytest.MonkeyPatch, module: str, name: str) -> None:
    kind = getattr(pytest.importorskip(module), name)

    def refuse(**_: object) -> None:
        raise kind(": org.apache.spark.SparkException: Asked to run locally with 0 threads\n\tat org.apache")

    monkeypatch.setattr("aerowire.pcap.spark.session", refuse)
    expected = r"^--spark local\[0\]: no session: SparkException: Asked to run locally with 0 threads$"
    with pytest.raises(CaptureError, match=expected), spark_session("local[0]"):
        pass


def test_a_reason_is_found_in_what_java_and_python_say() -> None:
    stack = 'An exception was thrown from the Python worker:\nTraceback (most recent call last):\n  File "a.py", line 1, in f\n'
    assert reason_of(Exception(f"{stack}OSError: [Errno 28] No space left on device\n")) == "OSError: [Errno 28] No space left on device"
    java = "Job aborted due to stage failure: Task 0 in stage 3.0 failed\njava.lang.OutOfMemoryError: Java heap space\n\tat org.apache"
    assert reason_of(Exception(java)) == "OutOfMemoryError: Java heap space"
    call = "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n"
    refused = f"{call}: org.apache.spark.SparkException: Asked to run locally with 0 threads\n\tat org.apache"
    assert reason_of(Exception(refused)) == "SparkException: Asked to run locally with 0 threads"
    assert reason_of(Exception("Answer from Java side is empty")) == "Answer from Java side is empty"


@pytest.mark.parametrize("master", ["spark://127.0.0.1:1", "local-cluster[2,1,1024]"])
def test_captures_on_a_cluster_are_named_by_absolute_paths(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, master: str
) -> None:
    monkeypatch.chdir(CAPTURES)
    code, out, said = run(capsys, "summary", "loss_multicast.pcap", "--spark", master)
    assert (code, out) == (UNUSABLE, "")
    assert said == f"aerowire pcap: --spark {master}: executors run in other folders: name loss_multicast.pcap as {MULTICAST}\n"


@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("kept_session")
def test_spark_gives_what_one_process_gives(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    for arguments in COMMANDS:
        codes, printed = [], []
        for more in ([], SPARK):
            codes.append(main(["pcap", *arguments, *more]))
            sys.stdout.flush()
            printed.append(capfdbinary.readouterr().out)
        assert codes == [DONE, DONE], arguments
        assert printed[0], arguments
        assert printed[1] == printed[0], arguments


@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("kept_session")
def test_spark_writes_the_page_and_the_table_that_one_process_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for more, name in (([], "here"), (SPARK, "spark")):
        assert run(capsys, "report", LOSSY, "--output", str(tmp_path / f"{name}.html"), *more)[0] == DONE
        assert run(capsys, "export", LOSSY, str(tmp_path / f"{name}.parquet"), "--payload", *more)[0] == DONE
    assert (tmp_path / "spark.html").read_text() == (tmp_path / "here.html").read_text()
    assert pq.read_table(tmp_path / "spark.parquet").equals(pq.read_table(tmp_path / "here.parquet"))
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(Path(LOSSY).read_bytes()[:-7])
    assert run(capsys, "streams", str(damaged), *SPARK)[0] == FINDING
    assert run(capsys, "frames", str(damaged), "--limit", "1", *SPARK)[0] == FINDING


@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("kept_session")
def test_a_replay_on_spark_tells_that_there_is_no_subscriber(capsys: pytest.CaptureFixture[str]) -> None:
    with MediaDriver.launch_embedded(threading_mode="SHARED", ipc_term_buffer_length=65536) as driver:
        arguments = ["--speed", "max", "--wait", "0.1", "--json", "--dir", driver.aeron_dir]
        code, out, errors = run(capsys, "replay", LOSSY, "aeron:ipc", "10", *arguments, *SPARK)
    told = json.loads(out)
    assert (code, told["sent"]) == (FINDING, None), errors
    assert "partition 0, after 0 of its rows were sent: no subscriber" in told["problem"]


@pytest.mark.parametrize("command", ["summary", "streams", "frames", "loss", "report"])
def test_without_pyspark_the_error_says_what_to_install(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    code, _, error = run(capsys, command, LOSSY, *SPARK)
    assert code == UNUSABLE
    assert "pip install 'aerowire[spark]'" in error


def test_spark_reads_no_standard_input_and_no_file_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, error = run(capsys, "summary", "-", *SPARK)
    assert code == UNUSABLE
    assert "standard input" in error
    for command in ("summary", "streams", "loss", "frames"):
        code, _, error = run(capsys, command, str(tmp_path / "absent"), *SPARK)
        assert code == UNUSABLE
        assert "absent" in error


def test_streams_are_listed_with_what_the_summary_tells(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "streams", LOSSY, MULTICAST, "--json")
    found = [json.loads(line) for line in out.splitlines()]
    expected = [json.loads(json.dumps({"path": path, **summarise(path)["streams"][0]})) for path in (LOSSY, MULTICAST)]
    assert (code, found) == (DONE, expected)  # the one with more bytes is first
    lines = run(capsys, "streams", LOSSY)[1].splitlines()
    headings = lines[0].split("  ")
    assert [heading.strip() for heading in headings if heading] == [heading for heading, _ in CELLS]
    row = lines[1].split()
    assert row[:8] == ["1711220921", "1001", "127.0.0.1:56513", "127.0.0.1:40181", "292", "150", "45,000", "0.196"]
    assert row[8:12] == ["14.667", "0", "109", "22"]
    assert row[-1] == "EOS"
    assert lines[-1] == "1 stream"


def test_streams_are_sorted_by_what_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    paths = sorted(str(path) for path in CAPTURES.glob("loss_*.pcap"))
    for name, measure in SORTS.items():
        out = run(capsys, "streams", *paths, "--sort", name, "--json")[1]
        values: list[Any] = [measure(json.loads(line)) for line in out.splitlines()]
        assert values == sorted(values)
        assert len(values) == len(paths)


def test_loss_is_of_the_bytes_that_the_stream_came_to_be() -> None:
    paths = [{"data_frames": 3}, {"data_frames": 2}, {"data_frames": 0}]
    assert loss_percent({"paths": paths, "first_position": 1000, "last_position": 2000, "gap_bytes": 100}) == 5.0
    assert loss_percent({"paths": [], "first_position": None, "last_position": None, "gap_bytes": 0}) == 0.0
