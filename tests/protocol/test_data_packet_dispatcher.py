"""Interest of an endpoint: what data and set-ups of known, wanted and strange sessions lead to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aerowire.protocol import data_packet_dispatcher as dispatcher
from aerowire.protocol.data_packet_dispatcher import DataPacketDispatcher
from aerowire.protocol.pointer_map import PointerMap

STREAM = 1001


def table() -> DataPacketDispatcher:
    wanted = DataPacketDispatcher()
    wanted.add_stream(STREAM)
    return wanted


def test_data_of_an_unwanted_stream_is_dropped() -> None:
    assert table().on_data(1, 7, False) == dispatcher.DROP


def test_data_of_a_new_session_asks_for_a_setup_once() -> None:
    wanted = table()
    assert wanted.on_data(STREAM, 7, False) == dispatcher.ELICIT
    assert wanted.on_data(STREAM, 7, False) == dispatcher.DROP
    wanted.forget_session(STREAM, 7, dispatcher.PENDING_SETUP)
    assert wanted.on_data(STREAM, 7, False) == dispatcher.ELICIT


def test_the_end_of_an_unknown_stream_asks_for_nothing() -> None:
    assert table().on_data(STREAM, 7, True) == dispatcher.DROP


def test_a_setup_makes_one_image() -> None:
    wanted = table()
    assert wanted.on_setup(STREAM, 7) == dispatcher.CREATE
    assert wanted.on_setup(STREAM, 7) == dispatcher.DROP
    assert wanted.add_image(STREAM, 7, 99)
    assert wanted.on_setup(STREAM, 7) == dispatcher.IMAGE
    assert wanted.on_data(STREAM, 7, False) == dispatcher.IMAGE
    assert wanted.image == 99


def test_a_failed_image_may_be_asked_for_again() -> None:
    wanted = table()
    wanted.on_setup(STREAM, 7)
    wanted.forget_session(STREAM, 7, dispatcher.INIT_IN_PROGRESS)
    assert wanted.on_setup(STREAM, 7) == dispatcher.CREATE


def test_an_image_that_fell_silent_cools_down_and_may_join_again() -> None:
    wanted = table()
    wanted.on_setup(STREAM, 7)
    wanted.add_image(STREAM, 7, 99)
    wanted.remove_image(STREAM, 7, 99, False)
    assert wanted.on_setup(STREAM, 7) == dispatcher.DROP
    assert wanted.on_data(STREAM, 7, False) == dispatcher.DROP
    wanted.forget_session(STREAM, 7, dispatcher.COOL_DOWN)
    assert wanted.on_setup(STREAM, 7) == dispatcher.CREATE


def test_an_ended_image_leaves_no_cool_down() -> None:
    wanted = table()
    wanted.on_setup(STREAM, 7)
    wanted.add_image(STREAM, 7, 99)
    wanted.remove_image(STREAM, 7, 99, True)
    assert wanted.on_setup(STREAM, 7) == dispatcher.CREATE


def test_another_image_of_the_session_is_not_removed() -> None:
    wanted = table()
    wanted.add_image(STREAM, 7, 99)
    wanted.remove_image(STREAM, 7, 98, False)
    assert wanted.find_image(STREAM, 7) == 99


def test_only_subscribed_sessions_are_wanted() -> None:
    wanted = DataPacketDispatcher()
    wanted.add_session(STREAM, 7)
    assert wanted.on_setup(STREAM, 8) == dispatcher.DROP
    assert wanted.on_setup(STREAM, 7) == dispatcher.CREATE
    wanted.add_stream(STREAM)
    assert wanted.on_setup(STREAM, 8) == dispatcher.CREATE


def test_strangers_take_no_room_from_the_sessions_that_are_wanted() -> None:
    wanted = DataPacketDispatcher()
    wanted.add_session(STREAM, 7)
    for stranger in range(1_000, 1_000 + 70_000):
        assert wanted.on_data(STREAM, stranger, False) == dispatcher.DROP
    assert wanted.on_data(STREAM, 7, False) == dispatcher.ELICIT
    assert wanted.on_setup(STREAM, 7) == dispatcher.CREATE


def test_removing_a_subscription_orphans_its_images() -> None:
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


def test_the_session_limit_refuses_further_images() -> None:
    wanted = DataPacketDispatcher(session_limit=1)
    wanted.add_stream(STREAM)
    wanted.on_setup(STREAM, 7)
    wanted.add_image(STREAM, 7, 99)
    assert wanted.on_setup(STREAM, 8) == dispatcher.LIMIT
    assert wanted.on_setup(STREAM, 7) == dispatcher.IMAGE


def test_images_that_are_being_made_count_towards_the_session_limit() -> None:
    wanted = DataPacketDispatcher(session_limit=8)
    wanted.add_stream(STREAM)
    verdicts = [wanted.on_setup(STREAM, session) for session in range(100)]
    assert verdicts == [dispatcher.CREATE] * 8 + [dispatcher.LIMIT] * 92
    assert wanted.refusal == dispatcher.SESSIONS_REFUSED
    assert (wanted.image_count, wanted.being_made) == (8, 8)


def test_failed_and_ended_images_give_their_places_back() -> None:
    wanted = DataPacketDispatcher(session_limit=3)
    wanted.add_stream(STREAM)
    for session in (1, 2, 3):
        wanted.on_setup(STREAM, session)
    wanted.forget_session(STREAM, 1, dispatcher.INIT_IN_PROGRESS)
    wanted.add_image(STREAM, 2, 92)
    wanted.remove_image(STREAM, 2, 92, True)
    wanted.add_image(STREAM, 3, 93)
    wanted.remove_image(STREAM, 3, 93, False)
    assert (wanted.image_count, wanted.being_made) == (0, 0)
    assert [wanted.on_setup(STREAM, session) for session in (4, 5, 6, 7)] == [dispatcher.CREATE] * 3 + [dispatcher.LIMIT]


def test_a_stream_that_is_not_wanted_any_more_gives_its_places_back() -> None:
    wanted = DataPacketDispatcher(session_limit=2)
    wanted.add_stream(STREAM)
    wanted.on_setup(STREAM, 1)
    wanted.on_setup(STREAM, 2)
    wanted.add_image(STREAM, 1, 91)
    wanted.remove_stream(STREAM)
    assert wanted.poll_orphan()
    assert not wanted.poll_orphan()
    assert (wanted.image_count, wanted.being_made) == (0, 0)
    wanted.add_stream(STREAM)
    assert wanted.on_setup(STREAM, 3) == dispatcher.CREATE


def test_a_stream_gets_no_more_images_than_it_leaves_to_others() -> None:
    wanted = DataPacketDispatcher(image_limit=8)
    for stream in (1, 2):
        wanted.add_stream(stream)
    assert [wanted.on_setup(1, session) for session in range(6)].count(dispatcher.CREATE) == 4
    assert wanted.refusal == dispatcher.IMAGES_REFUSED
    assert [wanted.on_setup(2, session) for session in range(6)].count(dispatcher.CREATE) == 2


def test_a_stream_gets_no_more_images_under_way_than_it_leaves_room_for() -> None:
    wanted = DataPacketDispatcher()
    for stream in (1, 2):
        wanted.add_stream(stream)
    verdicts = [wanted.on_setup(1, session, 1) for session in range(1_000)]
    assert verdicts.count(dispatcher.CREATE) == wanted.being_made == 22
    assert verdicts.count(dispatcher.BUSY) == 1_000 - 22
    assert wanted.on_setup(2, 1, 1) == dispatcher.CREATE
    assert wanted.on_setup(1, 999, 100_000_001) == dispatcher.CREATE  # it comes again, as a sender does that got no answer


def test_set_ups_are_asked_for_at_a_rate_of_4096_a_second() -> None:
    wanted = table()
    verdicts = [wanted.on_data(STREAM, session, False, 1) for session in range(10_000)]
    assert verdicts.count(dispatcher.ELICIT) == 456
    assert wanted.refusal == dispatcher.ASKING_REFUSED
    assert wanted.on_data(STREAM, 9_999, False, 60_000_000) == dispatcher.ELICIT


def test_a_full_table_forgets_a_session_that_cools_down() -> None:
    wanted = table()
    for session in range(dispatcher.SESSIONS_MAX):
        assert wanted.add_image(STREAM, session, session + 1)
        wanted.remove_image(STREAM, session, session + 1, False)
    assert wanted.on_setup(STREAM, -1) == dispatcher.CREATE
    assert wanted.image_count == 1


def test_many_orphans_are_found_in_one_walk() -> None:
    wanted = table()
    wanted.add_session(STREAM, 11)
    for session in range(60_000):
        wanted.add_image(STREAM, session, session + 1)
    wanted.remove_stream(STREAM)
    orphans = set()
    while wanted.poll_orphan():
        orphans.add(wanted.image)
    assert orphans == set(range(1, 60_001)) - {12}


@given(st.lists(st.tuples(st.booleans(), st.integers(-40, 40), st.integers(1, 1 << 40))))
def test_the_map_behaves_as_a_dict(steps: list[tuple[bool, int, int]]) -> None:
    native = PointerMap(1 << 16)
    twin: dict[int, int] = {}
    for put, small, value in steps:
        key = small * 0x1_0000_0001
        if put:
            assert native.set(key, value)
            twin[key] = value
        else:
            assert native.discard(key) == (twin.pop(key, None) is not None)
        assert native.count == len(twin)
        assert all(native.get(known) == twin[known] for known in twin)


def test_a_full_map_refuses() -> None:
    native = PointerMap(2)
    assert native.set(1, 1)
    assert native.set(2, 1)
    assert not native.set(3, 1)
