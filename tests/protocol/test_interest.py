"""Interest of an endpoint: what data and set-ups of known, wanted and strange sessions lead to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aerowire.protocol import interest
from aerowire.protocol.interest import InterestTable
from aerowire.protocol.pointer_map import PointerMap

STREAM = 1001


def table() -> InterestTable:
    wanted = InterestTable()
    wanted.add_stream(STREAM)
    return wanted


def test_data_of_an_unwanted_stream_is_dropped():
    assert table().on_data(1, 7, False) == interest.DROP


def test_data_of_a_new_session_asks_for_a_setup_once():
    wanted = table()
    assert wanted.on_data(STREAM, 7, False) == interest.ELICIT
    assert wanted.on_data(STREAM, 7, False) == interest.DROP
    wanted.forget_session(STREAM, 7, interest.PENDING_SETUP)
    assert wanted.on_data(STREAM, 7, False) == interest.ELICIT


def test_the_end_of_an_unknown_stream_asks_for_nothing():
    assert table().on_data(STREAM, 7, True) == interest.DROP


def test_a_setup_makes_one_image():
    wanted = table()
    assert wanted.on_setup(STREAM, 7) == interest.CREATE
    assert wanted.on_setup(STREAM, 7) == interest.DROP
    assert wanted.add_image(STREAM, 7, 99)
    assert wanted.on_setup(STREAM, 7) == interest.IMAGE
    assert wanted.on_data(STREAM, 7, False) == interest.IMAGE
    assert wanted.image == 99


def test_a_failed_image_may_be_asked_for_again():
    wanted = table()
    wanted.on_setup(STREAM, 7)
    wanted.forget_session(STREAM, 7, interest.INIT_IN_PROGRESS)
    assert wanted.on_setup(STREAM, 7) == interest.CREATE


def test_an_image_that_fell_silent_cools_down_and_may_join_again():
    wanted = table()
    wanted.on_setup(STREAM, 7)
    wanted.add_image(STREAM, 7, 99)
    wanted.remove_image(STREAM, 7, 99, False)
    assert wanted.on_setup(STREAM, 7) == interest.DROP
    assert wanted.on_data(STREAM, 7, False) == interest.DROP
    wanted.forget_session(STREAM, 7, interest.COOL_DOWN)
    assert wanted.on_setup(STREAM, 7) == interest.CREATE


def test_an_ended_image_leaves_no_cool_down():
    wanted = table()
    wanted.on_setup(STREAM, 7)
    wanted.add_image(STREAM, 7, 99)
    wanted.remove_image(STREAM, 7, 99, True)
    assert wanted.on_setup(STREAM, 7) == interest.CREATE


def test_another_image_of_the_session_is_not_removed():
    wanted = table()
    wanted.add_image(STREAM, 7, 99)
    wanted.remove_image(STREAM, 7, 98, False)
    assert wanted.find_image(STREAM, 7) == 99


def test_only_subscribed_sessions_are_wanted():
    wanted = InterestTable()
    wanted.add_session(STREAM, 7)
    assert wanted.on_setup(STREAM, 8) == interest.DROP
    assert wanted.on_setup(STREAM, 7) == interest.CREATE
    wanted.add_stream(STREAM)
    assert wanted.on_setup(STREAM, 8) == interest.CREATE


def test_strangers_take_no_room_from_the_sessions_that_are_wanted():
    wanted = InterestTable()
    wanted.add_session(STREAM, 7)
    for stranger in range(1_000, 1_000 + 70_000):
        assert wanted.on_data(STREAM, stranger, False) == interest.DROP
    assert wanted.on_data(STREAM, 7, False) == interest.ELICIT
    assert wanted.on_setup(STREAM, 7) == interest.CREATE


def test_removing_a_subscription_orphans_its_images():
    wanted = table()
    wanted.add_session(STREAM, 8)
    for session in (7, 8):
        wanted.on_setup(STREAM, session)
        wanted.add_image(STREAM, session, session)
    wanted.remove_stream(STREAM)
    assert wanted.poll_orphan()
    assert wanted.image == 7
    assert not wanted.poll_orphan()
    wanted.remove_session(STREAM, 8)
    assert wanted.poll_orphan()
    assert wanted.image == 8
    assert wanted.is_empty()


def test_the_session_limit_refuses_further_images():
    wanted = InterestTable(session_limit=1)
    wanted.add_stream(STREAM)
    wanted.on_setup(STREAM, 7)
    wanted.add_image(STREAM, 7, 99)
    assert wanted.on_setup(STREAM, 8) == interest.LIMIT
    assert wanted.on_setup(STREAM, 7) == interest.IMAGE


@given(st.lists(st.tuples(st.booleans(), st.integers(-40, 40), st.integers(1, 1 << 40))))
def test_the_map_behaves_as_a_dict(steps):
    native, twin = PointerMap(1 << 16), {}
    for put, small, value in steps:
        key = small * 0x1_0000_0001
        if put:
            assert native.set(key, value)
            twin[key] = value
        else:
            assert native.discard(key) == (twin.pop(key, None) is not None)
        assert native.count == len(twin)
        assert all(native.get(known) == twin[known] for known in twin)


def test_a_full_map_refuses():
    native = PointerMap(2)
    assert native.set(1, 1)
    assert native.set(2, 1)
    assert not native.set(3, 1)
