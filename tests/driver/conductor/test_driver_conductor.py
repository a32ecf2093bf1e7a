"""The conductor by commands and responses, one duty cycle at a time."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.errors import PortInUseError
from aerowire.base.socket_address import SocketAddress
from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.wildcard_ports import WildcardPorts
from aerowire.driver.resources.stream_counters import OWN_COUNTERS
from aerowire.logbuffer.log import LogBuffers
from aerowire.system.clock import ManualClock
from tests.support.processes import free_port

UDP = "aeron:udp?endpoint=127.0.0.1:0"


def remove_publication(client: Any, registration_id: int, flags: int = 0) -> Any:
    return client.request(CommandType.REMOVE_PUBLICATION, commands.RemovePublicationEncoder, registration_id=registration_id, flags=flags)


def remove_subscription(client: Any, registration_id: int) -> Any:
    return client.request(CommandType.REMOVE_SUBSCRIPTION, commands.RemoveSubscriptionEncoder, registration_id=registration_id)


def udp_pair(client: Any, parameters: str = "") -> tuple[int, int, str]:
    """Subscribe on a free port and publish to it; returns both registrations and the address."""
    subscription = client.add_subscription(UDP + parameters, 10)
    status_id = client.take(CommandType.ON_SUBSCRIPTION_READY, subscription).channel_status_counter_id
    address = client.cnc.counters_reader().label(status_id).rsplit(" ", 1)[1]
    publication = client.add_publication(f"aeron:udp?endpoint={address}", 10)
    return subscription, publication, address


def fill_counters(client: Any, room: int) -> None:
    """Leave room for so many counters."""
    manager = client.driver.conductor.core.counters.manager
    for _ in range(client.cnc.counters_reader().max_count - len(SystemCounter) - len(OWN_COUNTERS) - len(client.labels()) - room):
        manager.allocate("filler", 1500, b"")


class TestClients:
    def test_a_new_client_gets_a_heartbeat_under_its_own_id(self, client: Any) -> None:
        client.add_subscription("aeron:ipc", 1)
        ready = client.take(CommandType.ON_COUNTER_READY, client.client_id)
        reader = client.cnc.counters_reader()
        assert reader.type_id(ready.counter_id) == CounterType.CLIENT_HEARTBEAT
        assert reader.label(ready.counter_id) == f"client-heartbeat: id={client.client_id}"
        assert reader.key(ready.counter_id)[:8] == struct.pack("<q", client.client_id)
        assert (reader.registration_id(ready.counter_id), reader.owner_id(ready.counter_id)) == (client.client_id, client.client_id)

    def test_a_client_that_closes_is_forgotten_without_a_timeout(self, client: Any) -> None:
        publication = client.add_publication("aeron:ipc", 1)
        log_file = Path(client.take(CommandType.ON_PUBLICATION_READY, publication).log_file)
        client.send(CommandType.CLIENT_CLOSE, commands.ClientCloseEncoder.encode(client_id=client.client_id))
        client.take(CommandType.ON_UNAVAILABLE_COUNTER, client.client_id)
        client.work_until(lambda: not client.labels())
        client.work_until(lambda: not log_file.exists())
        assert client.system(SystemCounter.CLIENT_TIMEOUTS) == 0
        assert CommandType.ON_CLIENT_TIMEOUT not in [kind for kind, _ in client.responses]

    def test_a_silent_client_times_out_and_loses_everything(self, launch: Callable[..., Any], clock: ManualClock) -> None:
        client = launch(clock=clock, publication_linger_timeout_ns=0, image_liveness_timeout_ns="20ms", rcv_status_message_timeout_ns="2ms")
        client.add_publication("aeron:ipc", 1)
        heartbeat = client.take(CommandType.ON_COUNTER_READY, client.client_id).counter_id
        counter = client.request(CommandType.ADD_COUNTER, commands.AddCounterEncoder, type_id=1500, key=b"", label="mine")
        client.take(CommandType.ON_COUNTER_READY, counter)
        udp_pair(client)
        client.take(CommandType.ON_AVAILABLE_IMAGE)
        assert client.cnc.counters_reader().value(heartbeat) > 0
        client.work(10_000)
        timeout = client.take(CommandType.ON_CLIENT_TIMEOUT)
        assert timeout.client_id == client.client_id
        client.take(CommandType.ON_UNAVAILABLE_COUNTER, counter)
        client.work_until(lambda: not client.labels())
        assert client.system(SystemCounter.CLIENT_TIMEOUTS) == 1

    @pytest.mark.parametrize("step_ms", [60_000, 3_600_000, -60_000])
    def test_a_wall_clock_that_is_set_costs_no_client_its_life_and_lends_none(
        self, launch: Callable[..., Any], clock: ManualClock, step_ms: int
    ) -> None:
        client = launch(clock=clock)
        client.add_publication("aeron:ipc", 1)
        client.take(CommandType.ON_PUBLICATION_READY)
        begin_ns, begin_ms = clock.now_ns(), clock.now_ms()

        def cycle(at_ms: int, set_ms: int) -> int:
            for extra_ms in (0, 6):  # timers, then what they have found
                client.driver.invoker.invoke_at(begin_ns + (at_ms + extra_ms) * 1_000_000, begin_ms + at_ms + extra_ms + set_ms)
            return int(client.system(SystemCounter.CLIENT_TIMEOUTS))

        assert cycle(100, 0) == 0
        assert cycle(200, step_ms) == 0
        assert cycle(9_000, step_ms) == 0
        assert cycle(11_000, step_ms) == 1

    def test_a_keepalive_command_beats_the_heart(self, launch: Callable[..., Any], clock: ManualClock) -> None:
        client = launch(clock=clock)
        client.add_subscription("aeron:ipc", 1)
        heartbeat = client.take(CommandType.ON_COUNTER_READY, client.client_id).counter_id
        client.set_counter(heartbeat, 1)
        client.send(CommandType.CLIENT_KEEPALIVE, commands.ClientKeepaliveEncoder.encode(client_id=client.client_id))
        client.driver.conductor.do_work(clock.now_ns(), clock.now_ms())
        assert client.cnc.counters_reader().value(heartbeat) == clock.now_ms()

    def test_looks_for_the_end_of_a_claimed_command_become_rarer(self, launch: Callable[..., Any], clock: ManualClock) -> None:
        client = launch(clock=clock)
        conductor, ring = client.driver.conductor, client.cnc.to_driver

        def next_look_ns() -> int:
            client.driver.invoker.invoke()
            return int(conductor.next_deadline_ns() - clock.now_ns())

        assert next_look_ns() > 1 << 60
        index = ring.try_claim(CommandType.CLIENT_KEEPALIVE, 16)
        assert 0 < next_look_ns() <= 200_000
        for _ in range(10):
            next_look_ns()
        assert 5_000_000 < next_look_ns() <= 10_000_000
        ring.abort(index)
        next_look_ns()
        assert next_look_ns() > 1 << 60


class TestIpc:
    def test_publication_and_subscription_meet(self, client: Any) -> None:
        subscription = client.add_subscription("aeron:ipc", 10)
        assert client.take(CommandType.ON_SUBSCRIPTION_READY, subscription).channel_status_counter_id == -1
        publication = client.add_publication("aeron:ipc?term-length=64k", 10)
        ready = client.take(CommandType.ON_PUBLICATION_READY, publication)
        assert (ready.registration_id, ready.stream_id, ready.channel_status_counter_id) == (publication, 10, -1)
        assert ready.log_file == f"{client.driver.aeron_dir}/publications/{publication}.logbuffer"
        image = client.take(CommandType.ON_AVAILABLE_IMAGE)
        assert (image.correlation_id, image.session_id, image.stream_id) == (publication, ready.session_id, 10)
        assert (image.subscription_registration_id, image.source_identity) == (subscription, "aeron:ipc")
        assert image.log_file == ready.log_file
        reader = client.cnc.counters_reader()
        assert reader.reference_id(image.subscriber_position_counter_id) == publication
        assert set(client.labels()) == {
            f"client-heartbeat: id={client.client_id}",
            f"pub-pos (concurrent): {publication} {ready.session_id} 10 aeron:ipc?term-length=64k",
            f"pub-lmt: {publication} {ready.session_id} 10 aeron:ipc?term-length=64k",
            f"sub-pos: {subscription} {ready.session_id} 10 aeron:ipc @0",
        }

    def test_a_second_concurrent_publication_shares_the_first(self, client: Any) -> None:
        first, second = client.add_publication("aeron:ipc", 10), client.add_publication("aeron:ipc", 10)
        exclusive = client.add_publication("aeron:ipc", 10, is_exclusive=True)
        one = client.take(CommandType.ON_PUBLICATION_READY, first)
        two = client.take(CommandType.ON_PUBLICATION_READY, second)
        three = client.take(CommandType.ON_EXCLUSIVE_PUBLICATION_READY, exclusive)
        assert (two.registration_id, two.session_id, two.log_file) == (first, one.session_id, one.log_file)
        assert three.registration_id == exclusive
        assert three.session_id != one.session_id

    def test_a_shared_publication_lives_until_its_last_registration_goes(self, client: Any) -> None:
        first, second = client.add_publication("aeron:ipc", 10), client.add_publication("aeron:ipc", 10)
        log_file = Path(client.take(CommandType.ON_PUBLICATION_READY, second).log_file)
        client.take(CommandType.ON_OPERATION_SUCCESS, remove_publication(client, first))
        client.work(20)
        assert log_file.exists()
        client.take(CommandType.ON_OPERATION_SUCCESS, remove_publication(client, second))
        client.work_until(lambda: not log_file.exists())
        client.work_until(lambda: set(client.labels()) == {f"client-heartbeat: id={client.client_id}"})

    def test_an_ending_publication_takes_its_images_along(self, client: Any) -> None:
        subscription = client.add_subscription("aeron:ipc", 10)
        publication = client.add_publication("aeron:ipc", 10)
        client.take(CommandType.ON_AVAILABLE_IMAGE)
        remove_publication(client, publication)
        gone = client.take(CommandType.ON_UNAVAILABLE_IMAGE)
        assert (gone.correlation_id, gone.subscription_registration_id, gone.stream_id, gone.channel) == (
            publication,
            subscription,
            10,
            "aeron:ipc",
        )

    def test_a_revoked_publication_ends_at_once(self, client: Any) -> None:
        client.add_subscription("aeron:ipc", 10)
        publication = client.add_publication("aeron:ipc", 10)
        client.take(CommandType.ON_AVAILABLE_IMAGE)
        remove_publication(client, publication, commands.RemovePublicationFlags.REVOKE)
        client.take(CommandType.ON_UNAVAILABLE_IMAGE)
        client.work_until(lambda: client.system(SystemCounter.PUBLICATIONS_REVOKED) == 1)

    def test_many_streams_that_end_with_their_client_leave_nothing(self, client: Any) -> None:
        client.add_subscription("aeron:ipc", 10)
        for _ in range(100):
            client.add_publication("aeron:ipc", 10, is_exclusive=True)
        client.work_until(lambda: sum(kind == CommandType.ON_AVAILABLE_IMAGE for kind, _ in client.responses) == 100)
        client.send(CommandType.CLIENT_CLOSE, commands.ClientCloseEncoder.encode(client_id=client.client_id))
        publications = Path(client.driver.aeron_dir) / "publications"
        client.work_until(lambda: not any(publications.iterdir()))
        assert not client.labels()
        assert client.system(SystemCounter.ERRORS) == 0

    def test_a_session_id_selects_the_publication(self, client: Any) -> None:
        client.add_subscription("aeron:ipc?session-id=77", 10)
        client.add_publication("aeron:ipc", 10, is_exclusive=True)
        wanted = client.add_publication("aeron:ipc?session-id=77", 10, is_exclusive=True)
        assert client.take(CommandType.ON_AVAILABLE_IMAGE).correlation_id == wanted
        client.work(5)
        assert CommandType.ON_AVAILABLE_IMAGE not in [kind for kind, _ in client.responses]

    def test_a_late_subscriber_joins_where_the_first_one_reads(self, client: Any) -> None:
        client.add_subscription("aeron:ipc", 10)
        client.add_publication("aeron:ipc?init-term-id=5|term-id=6|term-offset=64|term-length=64k", 10, is_exclusive=True)
        first = client.take(CommandType.ON_AVAILABLE_IMAGE)
        client.add_subscription("aeron:ipc", 10)
        second = client.take(CommandType.ON_AVAILABLE_IMAGE)
        reader = client.cnc.counters_reader()
        assert reader.value(first.subscriber_position_counter_id) == reader.value(second.subscriber_position_counter_id) == 65600
        assert reader.label(second.subscriber_position_counter_id).endswith(" @65600")

    def test_removing_a_subscription_frees_its_positions(self, client: Any) -> None:
        subscription = client.add_subscription("aeron:ipc", 10)
        client.add_publication("aeron:ipc", 10)
        client.take(CommandType.ON_AVAILABLE_IMAGE)
        client.take(CommandType.ON_OPERATION_SUCCESS, remove_subscription(client, subscription))
        client.work_until(lambda: not any(label.startswith("sub-pos") for label in client.labels()))

    def test_log_metadata_is_as_the_official_driver_writes_it(self, client: Any) -> None:
        publication = client.add_publication("aeron:ipc?term-length=64k|mtu=4k|linger=1s|tags=1,42", 10, is_exclusive=True)
        ready = client.take(CommandType.ON_EXCLUSIVE_PUBLICATION_READY, publication)
        log = LogBuffers.map(ready.log_file)
        fields = log.metadata_fields()
        log.close()
        assert (fields["term_length"], fields["mtu"], fields["page_size"], fields["type"]) == (65536, 4096, 4096, 1)
        assert (fields["correlation_id"], fields["entity_tag"], fields["linger_timeout_ns"]) == (publication, 42, 1_000_000_000)
        assert (fields["publication_window_length"], fields["max_resend"], fields["signal_eos"]) == (32768, 16, 1)
        assert (fields["end_of_stream_position"], fields["response_correlation_id"]) == (2**63 - 1, -1)
        assert (fields["socket_rcvbuf_length"], fields["untethered_resting_timeout_ns"]) == (0, 10_000_000_000)

    @pytest.mark.parametrize(
        ("options", "channel", "is_whole"),
        [
            ({}, "aeron:ipc", False),
            ({"aeron.term.buffer.sparse.file": "false"}, "aeron:ipc", True),
            ({"aeron.term.buffer.sparse.file": "false"}, "aeron:ipc?sparse=true", False),
            ({}, "aeron:ipc?sparse=false", True),
            # Whether a client touches what it maps is the client's affair.
            ({"aeron.pre.touch.mapped.memory": "true"}, "aeron:ipc", False),
        ],
    )
    def test_a_log_has_all_its_pages_when_it_is_not_sparse(
        self, launch: Callable[..., Any], options: dict[str, str], channel: str, is_whole: bool
    ) -> None:
        client = launch(properties=options)
        ready = client.take(CommandType.ON_PUBLICATION_READY, client.add_publication(channel, 10))
        status = Path(ready.log_file).stat()
        assert (status.st_blocks * 512 >= status.st_size) == is_whole
        log = LogBuffers.map(ready.log_file)
        assert log.metadata_fields()["sparse"] == (not is_whole)
        log.close()


class TestUdp:
    def test_a_stream_arrives_at_its_subscriber(self, client: Any) -> None:
        subscription, publication, address = udp_pair(client)
        ready = client.take(CommandType.ON_PUBLICATION_READY, publication)
        image = client.take(CommandType.ON_AVAILABLE_IMAGE)
        assert (image.session_id, image.stream_id, image.subscription_registration_id) == (ready.session_id, 10, subscription)
        assert image.log_file == f"{client.driver.aeron_dir}/images/{image.correlation_id}.logbuffer"
        source = next(label for label in client.labels() if label.startswith("snd-channel")).rsplit(" ", 1)[1]
        assert image.source_identity == source
        channel = f"aeron:udp?endpoint={address}"
        stream = f"{publication} {ready.session_id} 10 {channel}"
        received = f"{image.correlation_id} {ready.session_id} 10 {UDP}"
        snd_status, rcv_status = ready.channel_status_counter_id, image.subscriber_position_counter_id
        labels = client.labels()
        assert {
            f"snd-channel: {channel} {source}",
            f"snd-local-sockaddr: {snd_status} {source}",
            f"pub-pos (concurrent): {stream}",
            f"pub-lmt: {stream}",
            f"snd-pos: {stream}",
            f"snd-lmt: {stream}",
            f"snd-bpe: {stream}",
            f"snd-naks-received: {stream}",
            f"rcv-channel: {UDP} {address}",
            f"rcv-hwm: {received}",
            f"rcv-pos: {received}",
            f"rcv-naks-sent: {received}",
            f"sub-pos: {subscription} {ready.session_id} 10 {UDP} @0",
        } <= set(labels)
        assert labels[f"snd-channel: {channel} {source}"] == 1
        assert client.cnc.counters_reader().reference_id(rcv_status) == image.correlation_id

    def test_a_second_subscription_shares_endpoint_and_image(self, client: Any) -> None:
        _, _, address = udp_pair(client)
        client.take(CommandType.ON_AVAILABLE_IMAGE)
        second = client.add_subscription(f"aeron:udp?endpoint={address}", 10)
        # The first was asked for by port 0 and is nobody else's: a second socket on its port is refused.
        assert client.error_of(second)[0] == ErrorCode.GENERIC_ERROR

    def test_subscriptions_of_one_channel_share_endpoint_and_image(self, client: Any) -> None:
        port = free_port()
        channel = f"aeron:udp?endpoint=127.0.0.1:{port}"
        first, second = client.add_subscription(channel, 10), client.add_subscription(channel, 10)
        one = client.take(CommandType.ON_SUBSCRIPTION_READY, first)
        two = client.take(CommandType.ON_SUBSCRIPTION_READY, second)
        assert one.channel_status_counter_id == two.channel_status_counter_id
        client.add_publication(channel, 10)
        images = [client.take(CommandType.ON_AVAILABLE_IMAGE), client.take(CommandType.ON_AVAILABLE_IMAGE)]
        assert {image.subscription_registration_id for image in images} == {first, second}
        assert len({image.correlation_id for image in images}) == 1
        third = client.add_subscription(channel, 10)
        late = client.take(CommandType.ON_AVAILABLE_IMAGE)
        assert (late.subscription_registration_id, late.correlation_id) == (third, images[0].correlation_id)

    def test_everything_is_freed_when_both_ends_go(self, launch: Callable[..., Any]) -> None:
        client = launch(publication_linger_timeout_ns=0, image_liveness_timeout_ns="20ms", rcv_status_message_timeout_ns="2ms")
        mapped = client.system(SystemCounter.BYTES_CURRENTLY_MAPPED)
        subscription, publication, _ = udp_pair(client)
        image = client.take(CommandType.ON_AVAILABLE_IMAGE)
        assert client.system(SystemCounter.BYTES_CURRENTLY_MAPPED) == mapped + 2 * 200_704
        remove_publication(client, publication)
        gone = client.take(CommandType.ON_UNAVAILABLE_IMAGE)
        assert (gone.correlation_id, gone.subscription_registration_id, gone.channel) == (image.correlation_id, subscription, UDP)
        remove_subscription(client, subscription)
        client.work_until(lambda: set(client.labels()) == {f"client-heartbeat: id={client.client_id}"})
        client.work_until(lambda: client.system(SystemCounter.BYTES_CURRENTLY_MAPPED) == mapped)
        directory = Path(client.driver.aeron_dir)
        assert not list((directory / "images").iterdir())
        assert not list((directory / "publications").iterdir())

    def test_options_that_conflict_on_a_shared_endpoint_are_refused(self, client: Any) -> None:
        channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        client.take(CommandType.ON_SUBSCRIPTION_READY, client.add_subscription(channel, 10))
        for parameter in ("reliable=false", "rejoin=false", "so-rcvbuf=256k"):
            code, text = client.error_of(client.add_subscription(f"{channel}|{parameter}", 10))
            assert (code, parameter.split("=", 1)[0] in text) == (ErrorCode.INVALID_CHANNEL, True)
        client.take(CommandType.ON_SUBSCRIPTION_READY, client.add_subscription(f"{channel}|reliable=false", 11))

    def test_channels_of_one_address_and_two_tags_each_have_an_endpoint_of_their_own(self, launch: Callable[..., Any]) -> None:
        client = launch(publication_linger_timeout_ns=0)
        channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        tagged = [client.add_publication(f"{channel}|tags={tag}", 10) for tag in (1, 2)]
        statuses = [client.take(CommandType.ON_PUBLICATION_READY, item).channel_status_counter_id for item in tagged]
        assert statuses[0] != statuses[1]
        again = client.add_publication("aeron:udp?tags=1", 11)
        assert client.take(CommandType.ON_PUBLICATION_READY, again).channel_status_counter_id == statuses[0]
        for publication in (*tagged, again):
            remove_publication(client, publication)
        client.work_until(lambda: [label for label in client.labels() if "heartbeat" not in label] == [])

    def test_ports_come_from_the_range_and_go_back_to_it(self, launch: Callable[..., Any]) -> None:
        low = free_port()
        client = launch(receiver_wildcard_port_range=f"{low} {low}")
        first = client.add_subscription(UDP, 10)
        status_id = client.take(CommandType.ON_SUBSCRIPTION_READY, first).channel_status_counter_id
        assert client.cnc.counters_reader().label(status_id).endswith(f" 127.0.0.1:{low}")
        code, text = client.error_of(client.add_subscription(UDP, 10))
        assert (code, f"{low} to {low}" in text) == (ErrorCode.GENERIC_ERROR, True), text
        remove_subscription(client, first)
        client.work_until(lambda: not any(label.startswith("rcv-") for label in client.labels()))
        client.take(CommandType.ON_SUBSCRIPTION_READY, client.add_subscription(UDP, 10))

    def test_a_port_stays_taken_while_another_address_has_it(self) -> None:
        ports = WildcardPorts.parse("option", "5000 5001")
        one, two = SocketAddress("127.0.0.1", 5000), SocketAddress("127.0.0.2", 5000)
        ports.take(one)
        ports.take(two)
        ports.give_back(5000)
        assert ports.take(SocketAddress("127.0.0.1", 0)).port == 5001
        with pytest.raises(PortInUseError, match="no port of the wildcard range"):
            ports.take(SocketAddress("127.0.0.1", 0))
        ports.give_back(5000)
        assert ports.take(SocketAddress("127.0.0.1", 0)).port == 5000

    def test_a_socket_that_cannot_be_opened_gives_back_no_other_s_port(self, launch: Callable[..., Any]) -> None:
        low = free_port()
        client = launch(receiver_wildcard_port_range=f"{low} {low}")
        client.take(CommandType.ON_SUBSCRIPTION_READY, client.add_subscription(UDP, 10))
        client.error_of(client.add_subscription(f"aeron:udp?endpoint=localhost:{low}", 10))
        _, text = client.error_of(client.add_subscription(UDP, 11))
        assert "no port of the wildcard range is free" in text

    def test_induced_loss_keeps_a_setup_from_its_receiver(self, launch: Callable[..., Any], clock: ManualClock) -> None:
        client = launch(clock=clock, debug_send_data_loss_rate=1.0)
        udp_pair(client)
        client.work(300)
        assert CommandType.ON_AVAILABLE_IMAGE not in [kind for kind, _ in client.responses]

    def test_induced_loss_keeps_status_messages_from_the_sender(self, launch: Callable[..., Any]) -> None:
        client = launch(debug_receive_control_loss_rate=1.0)
        udp_pair(client)
        client.take(CommandType.ON_AVAILABLE_IMAGE)
        client.work(20)
        assert client.system(SystemCounter.STATUS_MESSAGES_SENT) > 0
        assert client.system(SystemCounter.STATUS_MESSAGES_RECEIVED) == 0
