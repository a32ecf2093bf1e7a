"""Destinations of a channel: who is sent to, who is forgotten, whose answer is whose."""

from __future__ import annotations

from aerowire.protocol.destinations import Destinations

SECOND = 1_000_000_000
A, B = ("10.0.0.1", 20001), ("10.0.0.2", 20002)


class TestDynamic:
    def test_a_status_message_makes_a_destination_once(self) -> None:
        table = Destinations(dynamic=True)
        assert table.hear(7, A, 0)
        assert not table.hear(7, A, 1)
        assert table.addresses() == [A]

    def test_the_same_receiver_at_a_new_port_is_another_destination(self) -> None:
        table = Destinations(dynamic=True)
        table.hear(7, A, 0)
        assert table.hear(7, ("10.0.0.1", 20009), 0)
        assert table.count == 2

    def test_the_same_receiver_and_port_at_a_new_host_keeps_its_old_address(self) -> None:
        table = Destinations(dynamic=True)
        table.hear(7, A, 0)
        assert not table.hear(7, ("10.0.0.9", A[1]), 1)
        assert table.addresses() == [A]

    def test_two_receivers_behind_one_port_are_two_destinations(self) -> None:
        table = Destinations(dynamic=True)
        table.hear(7, A, 0)
        assert table.hear(8, A, 0)

    def test_a_destination_goes_after_five_seconds_of_silence(self) -> None:
        table = Destinations(dynamic=True)
        table.hear(7, A, 0)
        table.hear(8, B, SECOND)
        assert table.remove_silent(5 * SECOND) == 0
        assert table.remove_silent(5 * SECOND + 1) == 1
        assert table.addresses() == [B]
        assert table.remove_silent(7 * SECOND) == 1
        assert table.count == 0

    def test_has_no_more_than_its_limit(self) -> None:
        table = Destinations(dynamic=True)
        heard = [table.hear(receiver, A, 0) for receiver in range(4097)]
        assert heard.count(True) == table.count == 4096


class TestManual:
    def test_a_status_message_never_adds(self) -> None:
        table = Destinations(dynamic=False)
        assert not table.hear(7, A, 0)
        assert table.count == 0

    def test_silence_removes_nobody(self) -> None:
        table = Destinations(dynamic=False)
        table.add_address(1, A, 0)
        assert table.remove_silent(60 * SECOND) == 0

    def test_removes_by_registration_and_keeps_the_order_of_the_others(self) -> None:
        table = Destinations(dynamic=False)
        for registration in (1, 2, 3):
            table.add_address(registration, ("10.0.0.1", 20000 + registration), 0)
        assert table.remove(2)
        assert not table.remove(2)
        assert table.addresses() == [("10.0.0.1", 20001), ("10.0.0.1", 20003)]

    def test_a_frame_belongs_to_the_destination_of_its_address_until_a_receiver_is_known(self) -> None:
        table = Destinations(dynamic=False)
        table.add_address(1, A, 0)
        table.add_address(2, B, 0)
        assert table.registration_of(7, B) == 2
        assert table.registration_of(7, ("10.0.0.3", B[1])) == -1
        table.hear(7, B, 0)
        assert table.registration_of(7, ("10.0.0.3", B[1])) == 2
        assert table.registration_of(8, B) == -1

    def test_tells_each_silent_destination_once_in_five_seconds(self) -> None:
        table = Destinations(dynamic=False)
        table.add_address(1, A, 0)
        table.add_address(2, B, 0)
        table.hear(7, B, SECOND)
        assert table.poll_silent(5 * SECOND) == -1
        assert table.poll_silent(5 * SECOND + 1) == 1
        assert table.poll_silent(5 * SECOND + 1) == -1
        assert [table.poll_silent(11 * SECOND), table.poll_silent(11 * SECOND)] == [1, 2]

    def test_a_name_that_moved_is_sent_to_at_its_new_address(self) -> None:
        table = Destinations(dynamic=False)
        table.add_address(1, A, 0)
        assert table.update_address(1, B)
        assert table.addresses() == [B]
        assert not table.update_address(2, A)


def test_each_destination_has_its_turn_to_be_first() -> None:
    table = Destinations(dynamic=False)
    assert [table.next_first(), table.next_first()] == [0, 0]
    for registration in (1, 2, 3):
        table.add_address(registration, A, 0)
    assert [table.next_first() for _ in range(5)] == [1, 2, 0, 1, 2]
    table.remove(3)
    assert [table.next_first() for _ in range(3)] == [0, 1, 0]
