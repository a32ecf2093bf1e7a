"""Counters of this client and of others, and handles as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aerowire.base.errors import ClosedError, ConfigurationError
from aerowire.client import Aeron, ReadableCounter

if TYPE_CHECKING:
    from tests.client.conftest import FakeDriver

CHANNEL = "aeron:ipc?alias=<b>"


def test_a_counter_changes_atomically_and_says_what_it_was(aeron: Aeron) -> None:
    counter = aeron.add_counter(1001, "mine", key=b"key")
    assert (counter.increment(), counter.increment(), counter.decrement(), counter.value) == (0, 1, 2, 1)
    assert (counter.get_and_add(9), counter.get_and_set(5), counter.value) == (1, 10, 5)
    assert counter.compare_and_set(5, 6)
    assert not counter.compare_and_set(5, 7)
    assert counter.propose_max(10)
    assert not counter.propose_max(10)
    assert counter.value == 10
    assert (counter.type_id, counter.key[:4], counter.label, counter.state) == (1001, b"key\0", "mine", 1)
    assert (counter.owner_id, counter.reference_id) == (-1, -1) or counter.owner_id == aeron.client_id
    counter.close()
    for call in (counter.increment, counter.decrement, lambda: counter.propose_max(1), lambda: counter.get_and_set(1)):
        with pytest.raises(ClosedError):
            call()


def test_a_counter_refers_to_what_its_owner_says(aeron: Aeron) -> None:
    with aeron.add_counter(1001, "refers") as counter:
        counter.reference_id = 77
        assert counter.reference_id == aeron.counters_reader.reference_id(counter.counter_id) == 77


def test_a_counter_of_somebody_else_is_read_while_it_is_the_same(aeron: Aeron, driver: FakeDriver) -> None:
    counter = aeron.add_counter(1001, "mine")
    counter.value = 42
    reader = ReadableCounter(aeron.counters_reader, counter.counter_id)
    assert (reader.value, reader.label, reader.registration_id, reader.is_closed) == (42, "mine", counter.registration_id, False)
    assert ReadableCounter(aeron.counters_reader, counter.counter_id, counter.registration_id).value == 42
    with pytest.raises(ClosedError, match="no such counter"):
        ReadableCounter(aeron.counters_reader, counter.counter_id, counter.registration_id + 1)
    counter.close()
    driver.cycle(aeron)
    assert reader.is_closed
    with pytest.raises(ClosedError, match="has gone"):
        _ = reader.value
    other = ReadableCounter(aeron.counters_reader, 0)
    other.close()
    with pytest.raises(ClosedError):
        _ = other.value


def test_counters_are_found_by_type_and_registration(aeron: Aeron) -> None:
    counter = aeron.add_counter(1001, "mine")
    assert aeron.counters_reader.find_by_type_and_registration(1001, counter.registration_id) == counter.counter_id
    assert aeron.counters_reader.find_by_type_and_registration(1001, 12345) < 0


def test_handles_are_tables_in_notebooks(aeron: Aeron) -> None:
    subscription = aeron.add_subscription(CHANNEL, 10)
    publication = aeron.add_publication(CHANNEL, 10)
    aeron.invoke()
    counter = aeron.add_counter(1001, "mine & yours")
    counter.value = 1234567
    image = subscription.images[0]
    publication.offer(b"x")
    page = publication._repr_html_()
    assert "aeron:ipc?alias=&lt;b&gt;" in page
    assert "connected" in page
    assert f'<th>session</th><td style="text-align:right;font-variant-numeric:tabular-nums">{publication.session_id:,}</td>' in page
    assert "1 images" in subscription._repr_html_()
    assert "<td>aeron:ipc</td>" in subscription._repr_html_()
    assert "<th>state</th><td>open</td>" in image._repr_html_()
    assert "mine &amp; yours" in counter._repr_html_()
    assert "1,234,567" in aeron.counters_reader._repr_html_()
    readable = ReadableCounter(aeron.counters_reader, counter.counter_id)
    assert "<caption>ReadableCounter</caption>" in readable._repr_html_()
    assert "mine &amp; yours" in readable._repr_html_()
    assert "1,234,567" in readable._repr_html_()
    for handle in (publication, subscription, readable, counter):
        handle.close()
        assert "closed" in handle._repr_html_()


def test_refuses_a_key_or_a_label_that_no_record_can_hold(aeron: Aeron) -> None:
    with pytest.raises(ConfigurationError, match=r"a counter's key is too long.*at most 112 bytes.*113"):
        aeron.add_counter(1001, "mine", key=bytes(113))
    with pytest.raises(ConfigurationError, match=r"a counter's label is too long.*at most 380 bytes.*381"):
        aeron.add_static_counter(1001, "x" * 381, registration_id=1)
    assert aeron.add_counter(1001, "x" * 380, key=bytes(112)).label == "x" * 380
