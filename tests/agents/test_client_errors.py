"""Errors of a client wait for the agent that records them, and are counted where there is no room."""

from __future__ import annotations

from aerowire.agents.client_errors import ClientErrors


def test_errors_are_taken_once_and_in_order() -> None:
    errors = ClientErrors()
    assert not errors
    first, second = ValueError("first"), OSError("second")
    errors(first)
    errors(second)
    recorded: list[BaseException] = []
    assert errors
    assert errors.take(recorded.append) == 2
    assert recorded == [first, second]
    assert (bool(errors), errors.take(recorded.append), len(recorded)) == (False, 0, 2)


def test_what_finds_no_room_is_counted_and_told_once() -> None:
    errors = ClientErrors()
    for number in range(300):
        errors(ValueError(str(number)))
    recorded: list[BaseException] = []
    assert errors.take(recorded.append) == 256
    assert [str(error) for error in recorded[256:]] == ["errors of the client were lost; expected 256 that wait at most; got 44 more"]
    assert [str(error) for error in recorded[:256]] == [str(number) for number in range(256)]
    recorded.clear()
    assert (errors.take(recorded.append), recorded) == (0, [])
