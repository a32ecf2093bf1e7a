"""Operations of several steps: what a generator that yields its waits gets, and how it ends."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from aerowire.archive.client.steps import Steps
from aerowire.base.errors import ClosedError
from aerowire.client import Pending

Waits = Generator["Pending[Any] | None", Any, str]


class Answer(Pending[int]):
    """Something that a test answers."""

    def __init__(self) -> None:
        super().__init__(1, "ask a test", lambda: None, lambda pending: pending.fail(ClosedError("given up")))


def test_goes_from_step_to_step_with_each_result() -> None:
    first, second = Answer(), Answer()
    works: list[int] = []

    def run() -> Waits:
        return f"{yield first} {yield second}"

    steps = Steps("do both", run(), lambda: works.append(1))
    assert not steps.poll()
    first.complete(5)
    assert not steps.poll()
    second.complete(6)
    assert steps.poll()
    assert (steps.result(), len(works)) == ("5 6", 3)


def test_takes_steps_that_are_done_already_in_one_go() -> None:
    first, second = Answer(), Answer()
    first.complete(5)
    second.complete(6)

    def run() -> Waits:
        return f"{yield first} {yield second}"

    steps = Steps("do both", run(), lambda: None)
    assert steps.poll()
    assert steps.result() == "5 6"


def test_takes_the_first_step_at_once_when_it_is_started() -> None:
    taken: list[str] = []

    def run() -> Waits:
        taken.append("first")
        yield None
        return "done"

    steps = Steps("step", run(), lambda: None)
    assert not taken
    steps.start()
    assert taken == ["first"]
    assert not steps.is_done
    assert steps.poll()


def test_looks_again_at_each_poll() -> None:
    looks: list[int] = []

    def run() -> Waits:
        while len(looks) < 3:
            looks.append(1)
            yield None
        return "seen"

    steps = Steps("look", run(), lambda: None)
    assert [steps.poll() for _ in range(4)] == [False, False, False, True]


def test_the_error_of_a_step_is_raised_in_the_generator() -> None:
    answer = Answer()

    def run() -> Waits:
        try:
            yield answer
        except ValueError as error:
            return f"got over {error}"
        return "no error"

    steps = Steps("try", run(), lambda: None)
    steps.poll()
    answer.fail(ValueError("this"))
    assert steps.poll()
    assert steps.result() == "got over this"


def test_an_error_that_the_generator_does_not_get_over_is_the_result() -> None:
    answer = Answer()

    def run() -> Waits:
        yield answer
        return "unreachable"

    steps = Steps("try", run(), lambda: None)
    steps.poll()
    answer.fail(ValueError("this"))
    assert steps.poll()
    with pytest.raises(ValueError, match="this"):
        steps.result()


def test_given_up_it_cleans_up_and_gives_up_what_it_waits_for() -> None:
    answer = Answer()
    cleaned: list[str] = []

    def run() -> Waits:
        try:
            yield answer
        finally:
            cleaned.append("up")
        return "unreachable"

    steps = Steps("try", run(), lambda: None)
    steps.poll()
    steps.cancel()
    assert (cleaned, answer.is_done) == (["up"], True)
    with pytest.raises(ClosedError, match="given up: try"):
        steps.result()


def test_an_interruption_is_raised_at_the_step_that_it_has_come_to() -> None:
    answer = Answer()

    def run() -> Waits:
        try:
            yield answer
        except TimeoutError as error:
            return f"interrupted by {error}"
        return "no error"

    steps = Steps("try", run(), lambda: None)
    steps.poll()
    steps.interrupt(TimeoutError("time"))
    assert steps.is_done
    assert steps.result() == "interrupted by time"
    assert answer.is_done


def test_what_its_work_raises_goes_to_the_caller() -> None:
    def run() -> Waits:
        yield None
        return "done"

    def fail() -> None:
        raise ValueError("mine")

    steps = Steps("try", run(), fail)
    with pytest.raises(ValueError, match="mine"):
        steps.poll()
    assert not steps.is_done
