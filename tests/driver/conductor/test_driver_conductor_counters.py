"""Counters and session ids that clients ask the conductor for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.errors import ErrorCode
from tests.driver.conductor.test_driver_conductor import remove_publication


class TestCounters:
    def test_a_counter_is_made_and_given_back(self, client: Any) -> None:
        made = client.request(CommandType.ADD_COUNTER, commands.AddCounterEncoder, type_id=1500, key=b"key", label="my label")
        ready = client.take(CommandType.ON_COUNTER_READY, made)
        reader = client.cnc.counters_reader()
        assert (reader.type_id(ready.counter_id), reader.label(ready.counter_id)) == (1500, "my label")
        assert reader.key(ready.counter_id)[:4] == b"key\0"
        assert (reader.registration_id(ready.counter_id), reader.owner_id(ready.counter_id)) == (made, client.client_id)
        gone = client.request(CommandType.REMOVE_COUNTER, commands.RemoveCounterEncoder, registration_id=made)
        client.take(CommandType.ON_OPERATION_SUCCESS, gone)
        assert client.take(CommandType.ON_UNAVAILABLE_COUNTER, made).counter_id == ready.counter_id

    def test_a_static_counter_is_made_once_and_outlives_its_client(self, client: Any) -> None:
        fields = {"registration_id": 99, "type_id": 1501, "key": b"", "label": "static"}
        first = client.request(CommandType.ADD_STATIC_COUNTER, commands.AddStaticCounterEncoder, **fields)
        second = client.request(CommandType.ADD_STATIC_COUNTER, commands.AddStaticCounterEncoder, **fields)
        counter_id = client.take(CommandType.ON_STATIC_COUNTER, first).counter_id
        assert client.take(CommandType.ON_STATIC_COUNTER, second).counter_id == counter_id
        client.send(CommandType.CLIENT_CLOSE, commands.ClientCloseEncoder.encode(client_id=client.client_id))
        client.work_until(lambda: set(client.labels()) == {"static"})
        assert client.cnc.counters_reader().owner_id(counter_id) == -1

    def test_a_static_counter_does_not_take_over_another_s(self, client: Any) -> None:
        made = client.request(CommandType.ADD_COUNTER, commands.AddCounterEncoder, type_id=1500, key=b"", label="owned")
        client.take(CommandType.ON_COUNTER_READY, made)
        static = client.request(
            CommandType.ADD_STATIC_COUNTER, commands.AddStaticCounterEncoder, registration_id=made, type_id=1500, key=b"", label="x"
        )
        assert client.error_of(static)[0] == ErrorCode.GENERIC_ERROR


class TestSessions:
    def test_next_session_ids_follow_each_other_and_skip_the_reserved_ones(self, launch: Callable[..., Any]) -> None:
        client = launch(publication_reserved_session_id_low=-(2**31), publication_reserved_session_id_high=-2)
        client.driver.conductor.sessions.next_id = 2**31 - 1
        ids = []
        for _ in range(3):
            asked = client.request(CommandType.GET_NEXT_AVAILABLE_SESSION_ID, commands.GetNextAvailableSessionIdEncoder, stream_id=10)
            ids.append(client.take(CommandType.ON_NEXT_AVAILABLE_SESSION_ID, asked).session_id)
        assert ids == [2**31 - 1, -1, 0]

    def test_a_session_id_in_use_is_refused_and_skipped(self, client: Any) -> None:
        channel = "aeron:ipc?session-id=77"
        client.take(CommandType.ON_EXCLUSIVE_PUBLICATION_READY, client.add_publication(channel, 10, is_exclusive=True))
        code, text = client.error_of(client.add_publication(channel, 10, is_exclusive=True))
        assert (code, "session-id=77" in text) == (ErrorCode.INVALID_CHANNEL, True)
        client.take(CommandType.ON_EXCLUSIVE_PUBLICATION_READY, client.add_publication(channel, 11, is_exclusive=True))
        client.driver.conductor.sessions.next_id = 77
        # 77 lies within the reserved range by default; widen nothing, only look at the stream.
        client.driver.conductor.sessions.reserved_low, client.driver.conductor.sessions.reserved_high = 1, 0
        asked = client.request(CommandType.GET_NEXT_AVAILABLE_SESSION_ID, commands.GetNextAvailableSessionIdEncoder, stream_id=10)
        assert client.take(CommandType.ON_NEXT_AVAILABLE_SESSION_ID, asked).session_id == 78

    @pytest.mark.parametrize("channel", ["aeron:ipc?session-id=77", "aeron:udp?endpoint=127.0.0.1:40999|session-id=77|linger=0"])
    def test_the_next_user_of_a_session_id_keeps_it_when_the_one_before_is_freed(self, client: Any, channel: str) -> None:
        first = client.add_publication(channel, 10, is_exclusive=True)
        log_file = Path(client.take(CommandType.ON_EXCLUSIVE_PUBLICATION_READY, first).log_file)
        remove_publication(client, first)
        client.work_until(lambda: not client.driver.conductor.sessions._active)
        assert log_file.exists(), "the first is not free yet"
        second = client.add_publication(channel, 10, is_exclusive=True)
        client.take(CommandType.ON_EXCLUSIVE_PUBLICATION_READY, second)
        client.work_until(lambda: not log_file.exists())
        code, text = client.error_of(client.add_publication(channel, 10, is_exclusive=True))
        assert (code, "same session id" in text) == (ErrorCode.INVALID_CHANNEL, True)
