"""What a link does to packets: each fault alone, with literal times, counts of 100,000 packets within bounds, and settings that change."""

from __future__ import annotations

import errno
import itertools
import statistics

import pytest

from aerowire.base.errors import ConfigurationError, SocketError, WrongTypeError
from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.links import LossCause
from aerowire.simulation.partitions import Partition
from tests.simulation.network_pair import HERE, MS, SECOND, THERE, US, NetworkPair

ELSEWHERE = "10.0.0.3"
COUNT = 100_000
CHUNK = 1_000


def numbers(count: int = COUNT) -> list[bytes]:
    return [number.to_bytes(4, "little") for number in range(count)]


def send_all(pair: NetworkPair, payloads: list[bytes], gap_ns: int = 0) -> list[bytes]:
    """Send many packets, read what arrives in between, and let the rest arrive."""
    taken = []
    for start in range(0, len(payloads), CHUNK):
        pair.send(*payloads[start : start + CHUNK])
        pair.clock.advance(gap_ns)
        taken += pair.take()
    pair.clock.advance(10 * SECOND)
    return taken + pair.take()


# -- Loss, duplication, replay -----------------------------------------------------------------------------------------


def test_without_faults_everything_arrives_once_and_in_order() -> None:
    assert send_all(NetworkPair(), numbers(), gap_ns=MS) == numbers()


@pytest.mark.parametrize(("loss", "least", "most"), [(0.05, 4_780, 5_220), (0.3, 29_500, 30_500), (0.001, 65, 140)])
def test_loses_its_share(loss: float, least: int, most: int) -> None:
    pair = NetworkPair(loss=loss)
    taken = send_all(pair, numbers(), gap_ns=MS)
    counts = pair.network.counts
    assert least < counts.lost[LossCause.CHANCE] < most
    assert len(taken) == counts.delivered == COUNT - counts.lost[LossCause.CHANCE]
    assert sum(counts.lost.values()) == counts.lost[LossCause.CHANCE]


def test_losses_are_independent() -> None:
    taken = set(send_all(NetworkPair(loss=0.1), numbers(), gap_ns=MS))
    lost = [payload not in taken for payload in numbers()]
    pairs = sum(first and second for first, second in itertools.pairwise(lost))
    assert 880 < pairs < 1_120  # one in a hundred


@pytest.mark.parametrize(("loss", "arrives"), [(0.0, 100), (1.0, 0)])
def test_loses_all_or_nothing(loss: float, arrives: int) -> None:
    assert len(send_all(NetworkPair(loss=loss), numbers(100), gap_ns=MS)) == arrives


def test_duplicates_its_share() -> None:
    pair = NetworkPair(duplicate=0.05)
    taken = send_all(pair, numbers(), gap_ns=MS)
    assert 4_780 < pair.network.counts.duplicated < 5_220
    assert len(taken) == COUNT + pair.network.counts.duplicated
    assert len(set(taken)) == COUNT


def test_a_duplicate_comes_with_its_packet_unless_there_is_jitter() -> None:
    pair = NetworkPair(duplicate=1.0)
    pair.send(b"a", b"b")
    assert pair.arrivals(MS) == [(10 * US, b"a"), (10 * US, b"a"), (10 * US, b"b"), (10 * US, b"b")]


def test_replays_one_of_the_last_sixteen() -> None:
    pair = NetworkPair(replay=0.5)
    taken = send_all(pair, numbers(), gap_ns=MS)
    assert 49_300 < pair.network.counts.replayed < 50_700
    assert len(taken) == COUNT + pair.network.counts.replayed
    ages, highest = [], -1
    for number in (int.from_bytes(payload, "little") for payload in taken):
        if number <= highest:
            ages.append(highest - number)
        highest = max(highest, number)
    # Behind its packet comes one that was sent before: each of sixteen as likely.
    assert (min(ages), max(ages)) == (1, 16)
    assert all(2_800 < ages.count(age) < 3_500 for age in range(1, 17))


def test_nothing_is_replayed_before_anything_was_sent() -> None:
    pair = NetworkPair(replay=1.0)
    pair.send(b"first")
    assert pair.network.counts.replayed == 0
    pair.send(b"second")
    assert [payload for _, payload in pair.arrivals(MS)] == [b"first", b"second", b"first"]


# -- Delays ------------------------------------------------------------------------------------------------------------


def test_a_packet_takes_the_latency() -> None:
    pair = NetworkPair(latency_ns=250 * US)
    pair.send(b"first")
    pair.clock.advance(100 * US)
    pair.send(b"second")
    assert pair.arrivals(149 * US + 100 * US) == []
    assert pair.arrivals(MS) == [(250 * US, b"first"), (350 * US, b"second")]


def delays(pair: NetworkPair, count: int) -> list[int]:
    """Return what each of `count` packets takes, which are sent at once."""
    start = pair.clock.now_ns()
    pair.send(*numbers(count))
    return [at_ns - start for at_ns, _ in pair.arrivals(start + 100 * SECOND)]


def test_jitter_has_its_minimum_its_mean_and_its_tail() -> None:
    pair = NetworkPair(latency_ns=10 * MS, jitter_ns=30 * MS)
    found = [delay for _ in range(25) for delay in delays(pair, 4_000)]
    assert len(found) == COUNT
    beyond = [delay - 10 * MS for delay in found]
    assert 0 <= min(beyond) < 10 * US
    assert 29.7 * MS < statistics.fmean(beyond) < 30.3 * MS
    assert 29.5 * MS < statistics.pstdev(beyond) < 30.5 * MS
    # An exponential distribution: half within ln 2 means, a 150th beyond five, nothing beyond ten.
    assert 49_400 < sum(delay < 20_794_415 for delay in beyond) < 50_600
    assert 590 < sum(delay > 150 * MS for delay in beyond) < 760
    assert max(beyond) <= 300 * MS


def test_jitter_is_cut_off() -> None:
    pair = NetworkPair(latency_ns=MS, jitter_ns=100 * MS, jitter_max_ns=20 * MS)
    found = delays(pair, 4_000)
    assert max(found) == 21 * MS
    assert 3_160 < found.count(21 * MS) < 3_390  # e^-0.2 of them


def test_jitter_reorders() -> None:
    pair = NetworkPair(jitter_ns=MS)
    taken = send_all(pair, numbers(4_000), gap_ns=10 * US)
    assert taken != numbers(4_000)
    assert sorted(taken) == sorted(numbers(4_000))


def test_reorders_its_share() -> None:
    pair = NetworkPair(reorder=0.1, reorder_ns=MS)
    taken = []
    for payload in numbers(20_000):
        pair.send(payload)
        pair.clock.advance(20 * US)
        taken += pair.take()
    pair.clock.advance(SECOND)
    taken += pair.take()
    assert sorted(taken) == sorted(numbers(20_000))
    order = [int.from_bytes(payload, "little") for payload in taken]
    # A packet that is held back for more than 20 us comes behind its successor, and none is held back for more than a millisecond.
    late = [index - number for index, number in enumerate(order) if index > number]
    assert 1_750 < len(late) < 2_150
    assert max(late) <= 50


# -- Queues and rates --------------------------------------------------------------------------------------------------


def test_a_full_link_drops_the_newest() -> None:
    pair = NetworkPair(queue_length=2)
    pair.send(b"a", b"b", b"c", b"d")
    assert pair.network.counts.lost[LossCause.QUEUE] == 2
    assert [payload for _, payload in pair.arrivals(MS)] == [b"a", b"b"]
    # What has arrived is on the link no more.
    pair.send(b"e", b"f", b"g")
    assert [payload for _, payload in pair.arrivals(2 * MS)] == [b"e", b"f"]
    assert pair.network.counts.lost[LossCause.QUEUE] == 3


def test_a_full_link_drops_the_oldest_if_it_is_told() -> None:
    pair = NetworkPair(queue_length=2, drops_oldest=True)
    pair.send(b"a", b"b", b"c", b"d")
    assert [payload for _, payload in pair.arrivals(MS)] == [b"c", b"d"]
    assert pair.network.counts.lost[LossCause.QUEUE] == 2


def test_the_oldest_is_the_one_sent_first_whenever_it_is_due() -> None:
    pair = NetworkPair(queue_length=20, drops_oldest=True, jitter_ns=MS, seed=3)
    for payload in numbers(1_000):
        pair.send(payload)
        assert pair.network.counts.in_flight <= 20
    assert sorted(payload for _, payload in pair.arrivals(SECOND)) == numbers(1_000)[-20:]


def test_duplicates_take_room_on_the_link() -> None:
    pair = NetworkPair(queue_length=3, duplicate=1.0)
    pair.send(b"a", b"b")
    assert [payload for _, payload in pair.arrivals(MS)] == [b"a", b"a", b"b"]
    assert pair.network.counts.lost[LossCause.QUEUE] == 1


def test_a_rate_spaces_packets() -> None:
    # 1,000 bytes take a millisecond.
    pair = NetworkPair(bytes_per_second=1_000_000)
    pair.send(bytes(1_000), bytes(500), bytes(1))
    assert [at_ns for at_ns, _ in pair.arrivals(10 * MS)] == [MS + 10 * US, 1_500_000 + 10 * US, 1_501_000 + 10 * US]
    # An idle link saves nothing up.
    pair.send(bytes(1_000))
    assert [at_ns for at_ns, _ in pair.arrivals(20 * MS)] == [11 * MS + 10 * US]


def test_a_rate_and_a_queue_lose_what_is_too_much() -> None:
    pair = NetworkPair(bytes_per_second=1_000_000, queue_length=10, latency_ns=0)
    arrived = 0
    for _ in range(2_000):  # twice of what the link carries
        pair.send(bytes(1_000))
        pair.clock.advance(MS // 2)
        arrived += len(pair.take())
    assert arrived == 1_000
    assert pair.network.counts.lost[LossCause.QUEUE] == 991
    assert pair.network.counts.in_flight == 9


# -- Clogging ----------------------------------------------------------------------------------------------------------


def test_a_clogged_link_delivers_nothing_until_its_end_and_then_everything() -> None:
    pair = NetworkPair()
    pair.send(b"in flight")
    pair.network.links.clog(HERE, THERE, 3 * SECOND)
    pair.clock.advance(SECOND)
    pair.send(b"a", b"b")
    pair.there.send_datagrams([(b"the other way", (HERE, 7000))])
    assert pair.arrivals(2 * SECOND) == []
    assert [payload for payload, _, _ in pair.here.receive_datagrams()] == [b"the other way"]
    assert pair.arrivals(4 * SECOND) == [(3 * SECOND, b"in flight"), (3 * SECOND, b"a"), (3 * SECOND, b"b")]
    pair.send(b"c")
    assert pair.arrivals(5 * SECOND) == [(4 * SECOND + 10 * US, b"c")]


def test_a_queue_bounds_what_waits_for_a_clogged_link() -> None:
    pair = NetworkPair(queue_length=5)
    pair.network.links.clog(HERE, THERE, SECOND)
    pair.send(*numbers(12))
    assert [payload for _, payload in pair.arrivals(2 * SECOND)] == numbers(5)
    assert pair.network.counts.lost[LossCause.QUEUE] == 7


def clogged_times(pair: NetworkPair, duration_ns: int, step_ns: int) -> list[int]:
    """Send a packet each step; return for how long each was held up, where it was for more than the latency."""
    start, sent = pair.clock.now_ns(), {}
    held = []
    for step in range(duration_ns // step_ns):
        sent[payload := step.to_bytes(4, "little")] = start + step * step_ns
        pair.send(payload)
        held += [at_ns - sent.pop(payload) - 10 * US for at_ns, payload in pair.arrivals(start + (step + 1) * step_ns)]
    return [each for each in held if each]


def test_cloggings_begin_and_last_as_they_are_drawn() -> None:
    pair = NetworkPair(clog_interval_ns=SECOND, clog_mean_ns=100 * MS, clog_max_ns=400 * MS)
    held = clogged_times(pair, 1_000 * SECOND, 5 * MS)
    # A tenth of the time between; the first packet of each clogging waits for nearly all of it.
    assert 0.07 < len(held) * 5 * MS / (1_000 * SECOND) < 0.11
    assert 300 * MS < max(held) <= 400 * MS
    lengths = [first for before, first in zip([0, *held], held, strict=False) if first > before]
    assert 800 < len(lengths) < 1_000
    assert 85 * MS < statistics.fmean(lengths) < 110 * MS


def test_a_link_that_clogs_no_more_is_free_at_once() -> None:
    pair = NetworkPair(clog_interval_ns=MS, clog_mean_ns=60 * SECOND, clog_max_ns=60 * SECOND)
    pair.clock.advance(SECOND)
    pair.send(b"clogged")
    pair.network.set_faults()
    assert pair.arrivals(2 * SECOND) == [(SECOND + 10 * US, b"clogged")]


# -- Errors of sending -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOBUFS, errno.EPERM, errno.ENETUNREACH])
def test_a_send_ends_in_the_error_that_is_set(code: int) -> None:
    pair = NetworkPair(send_error=1.0, send_errors=(code,))
    with pytest.raises(SocketError, match="send failed"):
        pair.send(b"refused")
    counts = pair.network.counts
    assert (counts.refused, counts.sent, pair.network.sent) == (1, 0, 0)


def test_a_send_that_would_block_takes_nothing() -> None:
    pair = NetworkPair(send_error=1.0, send_errors=(errno.EAGAIN,))
    assert pair.send(b"a", b"b") == 0
    assert pair.arrivals(SECOND) == []


def test_an_error_ends_a_batch_and_each_error_is_as_likely() -> None:
    pair = NetworkPair(send_error=0.25, send_errors=(errno.EAGAIN, errno.ENOBUFS))
    taken = refused = blocked = 0
    for _ in range(10_000):
        try:
            taken += (now := pair.send(b"a", b"b", b"c"))
            blocked += now == 0
        except SocketError:
            refused += 1
        pair.take()
        pair.clock.advance(MS)
    counts = pair.network.counts
    assert counts.sent == taken == pair.network.sent
    # A quarter of all attempts; of the first of a batch one error in two is told, and later ones end the batch.
    assert 0.24 < counts.refused / (counts.refused + taken) < 0.26
    assert 1_150 < refused < 1_350
    assert 1_150 < blocked < 1_350


# -- Settings ----------------------------------------------------------------------------------------------------------


def test_directions_have_settings_of_their_own() -> None:
    pair = NetworkPair()
    pair.network.links.set(HERE, THERE, LinkFaults(loss=1.0))
    pair.send(b"lost")
    pair.there.send_datagrams([(b"arrives", (HERE, 7000))])
    assert pair.arrivals(MS) == []
    assert [payload for payload, _, _ in pair.here.receive_datagrams()] == [b"arrives"]
    counts = pair.network.links.counts
    assert (counts(HERE, THERE).lost[LossCause.CHANCE], counts(THERE, HERE).delivered) == (1, 1)


def test_the_settings_made_last_are_obeyed() -> None:
    links = NetworkPair().network.links
    first, second, third, fourth = (LinkFaults(loss=loss) for loss in (0.1, 0.2, 0.3, 0.4))
    links.set(HERE, THERE, first)
    assert [links.get(*link) for link in ((HERE, THERE), (THERE, HERE))] == [first, LinkFaults()]
    links.set(HERE, None, second)
    assert [links.get(*link) for link in ((HERE, THERE), (HERE, ELSEWHERE), (THERE, HERE))] == [second, second, LinkFaults()]
    links.set(None, ELSEWHERE, third)
    assert [links.get(*link) for link in ((HERE, THERE), (HERE, ELSEWHERE), (THERE, ELSEWHERE))] == [second, third, third]
    links.set_all(fourth)
    assert {links.get(source, other).loss for source, other in ((HERE, THERE), (HERE, ELSEWHERE), ("10.0.0.9", HERE))} == {0.4}


def test_links_that_are_used_later_get_the_settings_made_before() -> None:
    links = NetworkPair().network.links
    links.set(None, ELSEWHERE, LinkFaults(loss=0.3))
    links.set("10.0.0.9", None, LinkFaults(loss=0.2))
    assert links.get("10.0.0.9", ELSEWHERE).loss == 0.2
    assert links.get("10.0.0.8", ELSEWHERE).loss == 0.3
    assert links.get("10.0.0.8", HERE).loss == 0.0


def test_the_way_from_a_host_to_itself_has_settings_of_its_own() -> None:
    pair = NetworkPair()
    links = pair.network.links
    links.set_all(LinkFaults(loss=1.0))
    links.set(HERE, None, LinkFaults(loss=1.0))
    assert links.get(HERE, HERE) == LinkFaults()
    links.set(HERE, HERE, LinkFaults(loss=0.5))
    assert links.get(HERE, HERE).loss == 0.5


def test_all_settings_are_read_back() -> None:
    links = NetworkPair().network.links
    faults = LinkFaults(
        loss=0.01, duplicate=0.02, replay=0.03, reorder=0.04, reorder_ns=5, latency_ns=6, jitter_ns=7, jitter_max_ns=8,
        clog_interval_ns=9 * MS, clog_mean_ns=10, clog_max_ns=11, queue_length=12, drops_oldest=True, bytes_per_second=13, send_error=0.14,
        send_errors=(errno.EPERM, errno.EINVAL),
    )  # fmt: skip
    links.set(HERE, THERE, faults)
    assert links.get(HERE, THERE) == faults


def test_settings_change_while_packets_are_in_flight() -> None:
    pair = NetworkPair(latency_ns=SECOND)
    pair.send(b"slow")
    pair.network.set_faults(latency_ns=MS)
    pair.send(b"fast")
    assert pair.arrivals(2 * SECOND) == [(MS, b"fast"), (SECOND, b"slow")]


def test_a_link_needs_addresses_and_settings() -> None:
    links = NetworkPair().network.links
    with pytest.raises(ConfigurationError, match="no link is named"):
        links.set(None, None, LinkFaults())
    with pytest.raises(ConfigurationError, match="not an address"):
        links.set("here", THERE, LinkFaults())
    with pytest.raises(WrongTypeError, match="address has the wrong type"):
        links.set(1, THERE, LinkFaults())  # type: ignore[arg-type]
    with pytest.raises(WrongTypeError, match="faults has the wrong type"):
        links.set(HERE, THERE, 0.5)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="duration_ns is out of range"):
        links.clog(HERE, THERE, -1)


def test_changes_come_after_what_was_due_before_them() -> None:
    pair = NetworkPair()
    pair.send(b"due")
    pair.clock.advance(MS)
    pair.network.links.clog(HERE, THERE, SECOND)
    pair.network.partition(Partition((HERE,), (THERE,)))
    pair.network.disconnect(THERE)
    pair.there.cut()
    assert pair.take() == [b"due"]
