"""Images, publications and counters on loan to a native agent, and what becomes of them when their streams end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aerowire.agents.command_queue import AgentCommand
from aerowire.base.errors import AerowireError, ClosedError
from aerowire.base.idle import BackoffIdleStrategy
from aerowire.base.runner import AgentRunner
from aerowire.client import Aeron
from aerowire.client.lending.image_lender import ImageLender
from aerowire.client.lending.lent_counter import LentCounter
from aerowire.client.lending.lent_image import LentImage
from aerowire.client.lending.lent_publication import LentPublication
from aerowire.driver import Context, MediaDriver
from aerowire.ipc.cnc import CncFile
from aerowire.system.clock import SystemClock
from tests.support.waiting import wait_until

IPC = "aeron:ipc?term-length=64k"
IN, OUT = 1001, 1002
NO_LIMIT = (1 << 63) - 1


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Aeron]:
    context = Context(aeron_dir=str(tmp_path / "driver"), threading_mode="SHARED", image_liveness_timeout_ns="500ms")
    with MediaDriver.launch(context), Aeron.connect(aeron_dir=str(tmp_path / "driver")) as connected:
        yield connected


def image_of(client: Aeron, channel: str = IPC, stream_id: int = IN) -> tuple[Any, Any, Any]:
    """Return a publication, a subscription and the image between them."""
    subscription = client.add_subscription(channel, stream_id)
    publication = client.add_exclusive_publication(channel, stream_id)
    wait_until(lambda: subscription.images and publication.is_connected, "an image")
    return publication, subscription, subscription.images[0]


@contextmanager
def running(relay: Any, *loans: Any) -> Iterator[tuple[Any, Any]]:
    """Give loans to a relay that runs in a thread of its own; return the agent and its ring."""
    ring = relay.RelayRing()
    agent = relay.Relay(ring)
    runner = AgentRunner([agent], SystemClock(), BackoffIdleStrategy()).start()
    try:
        for loan in loans:
            lend(relay, agent, loan)
        yield agent, ring
    finally:
        runner.stop()


def lend(relay: Any, agent: Any, loan: Any) -> None:
    operations = {LentImage: relay.TAKE_IMAGE, LentPublication: relay.TAKE_PUBLICATION, LentCounter: relay.TAKE_COUNTER}
    agent.put(AgentCommand(operations[type(loan)], loan, hold=True))


def test_a_lent_image_is_read_and_moved_up_to_what_was_read(client: Aeron) -> None:
    publication, _, image = image_of(client)
    for number in range(3):
        publication.send(bytes([number]) * 100)
    start = image.position
    loan = LentImage(image)
    assert loan.read_block(start, NO_LIMIT, 10) == 0
    assert loan.read_block(start - 32, NO_LIMIT, 4096) == 0
    assert isinstance(loan.read_block(start, start + 319, 4096), bytes)
    assert not loan.move(start + 320), "only the first frame was read"
    assert loan.move(start + 160)
    assert not loan.move(start + 160)
    assert not loan.move(start)
    rest = loan.read_block(start + 160, NO_LIMIT, 4096)
    assert isinstance(rest, bytes)
    assert len(rest) == 320
    assert image.position == start + 160
    with pytest.raises(AerowireError, match="an image is polled while an agent reads it"):
        image.poll(lambda *_: None)
    with pytest.raises(AerowireError, match="while an agent reads it"):
        LentImage(image)
    with pytest.raises(AerowireError, match="has not given it back yet"):
        image.take_back()
    loan.recall()
    assert loan.read_block(start + 160, NO_LIMIT, 4096) == 0
    assert not loan.move(start + 480)
    loan.return_now()
    image.take_back()
    received: list[bytes] = []
    assert image.poll(lambda buffer, offset, length, _: received.append(bytes(buffer[offset : offset + length]))) == 2
    assert received == [b"\1" * 100, b"\2" * 100]
    assert LentImage(image).read_block(image.position, NO_LIMIT, 4096) == 0


def test_a_lent_publication_is_its_agent_s_alone(client: Aeron) -> None:
    publication, _, _ = image_of(client)
    loan = LentPublication(publication)
    assert (publication.is_closed, publication.is_connected, publication.position) == (False, True, 0)
    assert publication.available_window == publication.position_limit > 0
    with pytest.raises(AerowireError, match="it is on loan to an agent"):
        publication.offer(b"x")
    loan.recall()
    loan.return_now()
    publication.take_back()
    assert publication.offer(b"x") == 64


@pytest.mark.threads
def test_a_relay_sends_on_what_it_reads_and_counts_it(client: Aeron, relay: Any) -> None:
    source, _, image = image_of(client)
    target, destination, _ = image_of(client, stream_id=OUT)
    counter = client.add_counter(1_000, "relayed")
    loans = [LentImage(image), LentPublication(target), LentCounter(counter)]
    received: list[bytes] = []
    messages = [bytes([number % 251]) * (number % 700) for number in range(3_000)]
    with running(relay, *loans) as (agent, ring):
        for number in range(0, len(messages), 20):
            source.send_many(messages[number : number + 20])
            wait_until(
                lambda: len(received) == number + 20,  # noqa: B023 called at once
                lambda: f"{len(received)} messages",
                work=lambda: destination.poll(
                    lambda buffer, offset, length, _: received.append(bytes(buffer[offset : offset + length])), 1_000
                ),
            )
        for loan in loans:
            loan.recall()
        wait_until(lambda: all(loan.is_returned for loan in loans), "the loans")
        given_back = ring.poll()
        assert {id(subject) for _, subject in given_back} == {id(loan) for loan in loans}
    assert received == messages
    assert counter.value == agent.bytes_read == image.position
    assert agent.moves_refused == agent.lost == 0
    for handle in (image, target, counter):
        handle.take_back()
    assert target.offer(b"again") > 0


@pytest.mark.threads
@pytest.mark.parametrize("ending", ["publication", "subscription", "client", "driver"])
def test_an_agent_gives_back_what_ends(tmp_path: Path, relay: Any, ending: str) -> None:
    directory = str(tmp_path / "driver")
    context = Context(aeron_dir=directory, threading_mode="SHARED", publication_linger_timeout_ns="0ms")
    driver = MediaDriver.launch(context)
    writer = Aeron.connect(aeron_dir=directory)
    reader = Aeron.connect(aeron_dir=directory, error_handler=lambda _: None)
    subscription = reader.add_subscription(IPC, IN)
    publication = writer.add_exclusive_publication(IPC, IN)
    wait_until(lambda: subscription.images and publication.is_connected, "an image")
    image = subscription.images[0]
    loan = LentImage(image)
    with running(relay, loan) as (agent, _):
        publication.send(b"x" * 100)
        wait_until(lambda: agent.bytes_read > 0, "a message")
        {"publication": publication.close, "subscription": subscription.close, "client": reader.close, "driver": driver.close}[ending]()
        wait_until(lambda: loan.is_returned, "the loan")
        read, position = agent.bytes_read, image.position
        if ending in ("subscription", "client"):
            publication.offer(b"y" * 100)
        wait_until(lambda: not writer.is_closed or ending == "driver", "the writer")
    assert (agent.bytes_read, image.position) == (read, position)
    image.take_back()
    assert image.is_closed
    reader.close()
    writer.close()
    driver.close()


@pytest.mark.threads
def test_images_are_lent_as_they_come_and_taken_back_as_they_go(client: Aeron, relay: Any) -> None:
    subscription = client.add_subscription(IPC, IN)
    with running(relay) as (agent, ring):
        lender = ImageLender(subscription, lambda loan: lend(relay, agent, loan))
        assert lender.do_work() == 0
        publications = [client.add_exclusive_publication(IPC, IN) for _ in range(3)]
        wait_until(lambda: len(lender.loans) == 3, "three loans", work=lender.do_work)
        for publication in publications:
            publication.send(b"x" * 100)
        wait_until(lambda: agent.bytes_read == 3 * 160, "three messages", work=ring.poll)
        publications[1].close()
        wait_until(lambda: len(lender.loans) == 2, "one to go", work=lender.do_work)
        publications.append(client.add_exclusive_publication(IPC, IN))
        wait_until(lambda: len(lender.loans) == 3, "one more", work=lender.do_work)
        lender.recall()
        wait_until(lambda: lender.is_returned, "all to be given back", work=lender.do_work)
        assert agent.moves_refused == agent.lost == 0
    assert [image.poll(lambda *_: None) for image in subscription.images] == [0, 0, 0]


def test_a_position_that_was_given_to_another_owner_is_not_moved(client: Aeron, tmp_path: Path) -> None:
    """The driver has freed a counter, and allocated it anew, before the client knows that its image has ended."""
    publication, _, image = image_of(client)
    publication.send(b"x" * 100)
    loan = LentImage(image)
    assert isinstance(loan.read_block(image.position, NO_LIMIT, 4096), bytes)
    cnc = CncFile.map(tmp_path / "driver" / "cnc.dat")
    for change in ("state", "registration", "reference"):
        with given_away(cnc, image.subscriber_position_id, change):
            assert not loan.is_owned
            assert not loan.move(160)
            assert image.position == 0
    assert loan.is_owned
    assert loan.move(160)


@contextmanager
def given_away(cnc: CncFile, counter_id: int, what: str) -> Iterator[None]:
    """Change a part of a counter's record, and put it back."""
    buffer, offset, length = {
        "state": (cnc.counters_metadata_buffer, 512 * counter_id, 4),
        "registration": (cnc.counters_values_buffer, 128 * counter_id + 8, 8),
        "reference": (cnc.counters_values_buffer, 128 * counter_id + 24, 8),
    }[what]
    former = bytes(buffer[offset : offset + length])
    buffer[offset : offset + length] = b"\x7f" * length
    yield
    buffer[offset : offset + length] = former


def test_a_counter_that_is_closed_is_recalled(client: Aeron) -> None:
    counter = client.add_counter(1_000, "lent")
    loan = LentCounter(counter)
    assert loan.store(5)
    counter.value += 1
    assert counter.value == 6
    counter.close()
    assert loan.is_recalled
    assert not loan.store(7)
    with pytest.raises(ClosedError):
        LentCounter(counter)
