"""Every fuzz target on an ordinary build: its seeds, the corpus that is checked in, and mutations drawn by the run's seed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.catalogue import TARGETS, make_target
from tests.fuzz.engine import Engine
from tests.fuzz.worker import CORPUS, EXIT_FINDING, LIFETIME, StateFile, minimise_before, read_state
from tests.soak.fuzzing.fuzz_native import PARTS

ROOT = Path(__file__).resolve().parents[2]
MUTATIONS = 300
# The slow ones make fewer: a driver works in virtual time, files are written, Python's lines are traced.
MUTATIONS_OF = {"pcap": 20, "recordings": 60, "ports": 60, "commands": 70, "sbe": 60, "sbe-schema": 70, "layout-schema": 70}


@pytest.mark.parametrize("target", TARGETS)
def test_target_bears_its_corpus_and_mutations(target: str, seed: int, tmp_path: Path) -> None:
    folder = CORPUS / target
    count = len(list(folder.iterdir())) if folder.is_dir() else 0
    command = [
        sys.executable,
        "-m",
        "tests.fuzz",
        target,
        f"--executions={count + MUTATIONS_OF.get(target, MUTATIONS)}",
        f"--seed={seed}",
        f"--findings={tmp_path}",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100, stdin=subprocess.DEVNULL)
    reports = "".join(path.read_text() for path in tmp_path.glob("*.txt"))
    assert done.returncode == 0, f"{done.stdout}{done.stderr}{reports[-3000:]}"
    assert done.stdout.endswith("1 passed, 0 failed\n")


def test_corpus_is_small() -> None:
    sizes = [path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()]
    assert sum(sizes) < 4 << 20
    assert max(sizes, default=0) <= 4096


def test_the_seed_decides_the_mutations() -> None:
    def drawn(seed: int) -> list[bytes]:
        engine = Engine(seed, (b"word",))
        return [engine.mutate(b"some bytes to begin with", b"others", 64) for _ in range(100)]

    assert drawn(5) == drawn(5)
    assert drawn(5) != drawn(6)
    assert all(0 < len(data) <= 64 for data in drawn(5))


def test_a_target_that_raises_is_a_finding_with_its_input(tmp_path: Path) -> None:
    # A target that fails by itself: the worker's protocol, not a defect of the product.
    script = tmp_path / "failing.py"
    script.write_text(
        "import sys\n"
        "from tests.fuzz import catalogue, worker\n"
        "class Failing:\n"
        "    name, length_max, words, traced = 'ring', 8, (), ()\n"
        "    def seeds(self): return [b'\\0' * 8]\n"
        "    def execute(self, data):\n"
        "        assert data[:1] != b'\\x07', 'a seven'\n"
        "worker.make_target = lambda name: Failing()\n"
        "sys.exit(worker.main())\n"
    )
    state = tmp_path / "state"
    command = [sys.executable, str(script), "ring", "--seed=1", "--executions=100000", f"--state={state}"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100, stdin=subprocess.DEVNULL, env={"PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == EXIT_FINDING, done.stderr
    assert "a seven" in done.stderr
    assert read_state(state)[1][-1][:1] == b"\x07"


class Remembering:
    """A target that fails when it has seen both 1 and 2 since it was renewed."""

    name = "ring"
    length_max = 8
    words: tuple[bytes, ...] = ()
    traced: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._seen = b""

    def seeds(self) -> list[bytes]:
        return []

    def renew(self) -> None:
        self._seen = b""

    def execute(self, data: bytes) -> None:
        self._seen += data
        assert not {1, 2} <= set(self._seen)


def test_a_finding_keeps_only_those_inputs_before_it_that_it_needs() -> None:
    before = [b"\x09", b"\x01", b"\x08"]
    assert minimise_before(Remembering(), Engine(1), b"\x02", before, 60.0) == [b"\x01"]
    assert minimise_before(Remembering(), Engine(1), b"\x01\x02", before, 60.0) == []


def test_the_state_file_has_the_inputs_since_the_last_renewal(tmp_path: Path) -> None:
    state = StateFile(tmp_path / "state")
    for number in range(LIFETIME):
        assert state.has_room(2)
        state.put(number, bytes([number, 1]))
    assert not state.has_room(2)
    assert read_state(tmp_path / "state") == (LIFETIME - 1, [bytes([number, 1]) for number in range(LIFETIME)])
    state.clear()
    state.put(LIFETIME, b"next")
    assert read_state(tmp_path / "state") == (LIFETIME, [b"next"])


@pytest.mark.parametrize("target", ["receiver", "sender"])
def test_every_stream_of_an_execution_ends_with_it(target: str) -> None:
    kept: Any = make_target(target)
    for data in kept.seeds():
        kept.execute(data)
        node = kept._nodes._node
        assert node.is_empty
        assert not node.images
    first = kept._nodes._node
    kept.renew()
    kept.execute(b"")
    assert kept._nodes._node is not first


def test_the_soak_runs_every_target_for_a_hundred_million_executions_in_all() -> None:
    assert set(PARTS) == set(TARGETS)
    assert sum(count * executions for count, executions in PARTS.values()) >= 100_000_000
