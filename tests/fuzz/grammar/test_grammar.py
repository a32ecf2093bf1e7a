"""The runner of hostile sequences: its oracles can fail, what it finds can be replayed, and a child that dies or hangs is a finding."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from aerowire.conformance.accepted.steps import Step, load, pause, save
from tests.fuzz.grammar import episode, polls, run
from tests.fuzz.grammar.bystander import Bystander
from tests.fuzz.grammar.episode import Episode, replay_episode, run_episode

DATAGRAMS = 400


def test_an_episode_of_one_seed_is_the_same_each_time(seed: int) -> None:
    first, second = (run_episode(seed, 1, DATAGRAMS).to_dict() for _ in range(2))
    for outcome in (first, second):
        assert outcome["finding"] == "", outcome
        outcome.pop("longest_poll_ms")
    assert first == second


def test_a_poll_that_takes_too_long_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polls, "POLL_LIMIT_S", -1.0)
    assert " took " in run_episode(1, 1, 8).finding


def test_a_message_of_others_that_changes_on_the_way_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Bystander._message

    def changed(self: Bystander, number: int) -> bytes:
        return plain(self, number) + (b"x" if number == self.received == 60 else b"")

    monkeypatch.setattr(Bystander, "_message", changed)
    assert "is not what was sent" in run_episode(1, 1, DATAGRAMS).finding


def test_an_image_whose_end_is_not_told_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    subscribe = Episode._subscribe

    def deaf(self: Episode, channel: str, stream: int) -> object:
        subscription = subscribe(self, channel, stream)
        self.ended = _Nothing()
        return subscription

    monkeypatch.setattr(Episode, "_subscribe", deaf)
    assert "went without notice" in run_episode(1, 1, DATAGRAMS).finding


def test_answers_that_are_longer_than_what_was_asked_are_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episode, "TIMED_ANSWERS", -(1 << 20))
    assert "are to be expected" in run_episode(1, 1, DATAGRAMS).finding


def test_a_capture_that_cannot_be_read_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    # The seed of such an episode is odd, like those of drivers that capture, and its capture is read.
    number = next(number for number in range(100) if (1_000_003 + number) % (2 * episode.CAPTURES_READ) == episode.CAPTURES_READ)
    close = Episode.close

    def spoil(self: Episode) -> None:
        close(self)
        assert self.world.capture is not None
        self.world.capture.write_bytes(b"no capture" * 10)

    assert run_episode(1, number, 8).finding == ""
    monkeypatch.setattr(Episode, "close", spoil)
    assert "capture cannot be read" in run_episode(1, number, 8).finding


def test_changes_of_the_application_are_steps_that_are_recorded_and_repeated(tmp_path: Path) -> None:
    steps: list[Step] = []
    drawn = run_episode(5, 1, 8 * DATAGRAMS, steps.append)
    assert drawn.kinds["change"] > 0
    save(tmp_path / "steps.txt", steps)
    repeated = replay_episode(5, 1, load(tmp_path / "steps.txt"))
    assert (drawn.finding, repeated.finding) == ("", "")
    assert repeated.kinds == drawn.kinds
    assert (repeated.images, repeated.fragments) == (drawn.images, drawn.fragments)


class _Nothing(set[tuple[int, int]]):
    def add(self, _item: tuple[int, int]) -> None:
        pass


def test_a_saved_sequence_is_replayed(tmp_path: Path) -> None:
    setup = struct.pack("<ibBhiiiiiiii", 40, 0, 0, 5, 0, 10_000, 1001, 7, 7, 65536, 1408, 0)
    steps = [Step("receive", 0, "setup", setup), pause(5_000_000)]
    outcome = replay_episode(1, 1, steps)
    # The streams of others have two images, spies one of each publication.
    assert (outcome.finding, outcome.datagrams, outcome.images) == ("", 1, 2 + 2 + 1)
    save(tmp_path / "steps.txt", steps, remark=json.dumps({"seed": 1, "episode": 1}))
    assert run.replay(tmp_path / "steps.txt") == ""


@pytest.mark.parametrize(
    ("code", "text"),
    [("import os; os.kill(os.getpid(), 15)", "ended with status -15"), ("import time; time.sleep(60)", "no episode ended within 1 s")],
)
def test_a_child_that_dies_or_hangs_is_a_finding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, text: str) -> None:
    def start(_seed: int, *_arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)

    monkeypatch.setattr(run, "_start", start)
    monkeypatch.setattr(run, "SILENCE_S", 1)
    monkeypatch.setattr(run, "GIVE_UP_S", 0.1)
    assert text in run.run_campaign(1, 100, save_to=tmp_path).finding
