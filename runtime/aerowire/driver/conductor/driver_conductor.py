"""The conductor: what happens once in a stream's life. Commands from clients, events from the agents, resources to free.

Its thread sleeps until the event queue is woken. No running stream depends on it. Aeron: DriverConductor.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from aerowire.agents.error_recorder import describe, is_storage_error
from aerowire.base.agent import Agent
from aerowire.base.errors import AerowireError, RegistrationError, StorageSpaceError
from aerowire.base.units import INT64_MAX
from aerowire.codecs.flyweights import commands
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.conductor import agent_events, client_command_adapter
from aerowire.driver.conductor.channel_lookups import ChannelLookups
from aerowire.driver.conductor.damage_reports import repair_to_clients, report_skipped_commands
from aerowire.driver.conductor.rejections import reject_image
from aerowire.driver.resources.clients import UserCounters
from aerowire.driver.resources.endpoints import Endpoints
from aerowire.driver.resources.images import Images
from aerowire.driver.resources.local_subscription_links import link_publication, link_subscription
from aerowire.driver.resources.publications import Publications
from aerowire.driver.resources.receive_destinations import ReceiveDestinations, check_destination
from aerowire.driver.resources.reresolution import ReResolution
from aerowire.driver.resources.send_destinations import SendDestinations, check_send_destination, endpoint_of
from aerowire.driver.resources.sessions import Sessions
from aerowire.driver.resources.subscription_links import Subscription
from aerowire.driver.resources.subscriptions import Subscriptions
from aerowire.driver.resources.waiting_logs import WaitingLogs
from aerowire.system.heap import give_back_memory

if TYPE_CHECKING:
    from aerowire.base.channel_uri import ChannelUri
    from aerowire.base.socket_address import SocketAddress
    from aerowire.driver.channels.udp_channel import UdpChannel
    from aerowire.driver.conductor.driver_core import DriverCore
    from aerowire.driver.conductor.lost_files import LostFiles
    from aerowire.driver.names.driver_names import DriverNames
    from aerowire.driver.queues.events import Event

# How soon it looks again while something waits that no event announces: room in an agent's queue, or a log to free.
_SLEEP_NS_BUSY = 10_000_000
# How soon it looks again for a command that was claimed and not yet written whole: the wake-up came with the claim.
_SLEEP_NS_UNFINISHED = 200_000
_CAPTURE_FLUSH_NS = 100_000_000
# Commands and events handled in one cycle before the other kind gets its turn.
_COMMANDS_PER_CYCLE = 16
_EVENTS_PER_CYCLE = 64
# Events taken from the queue at once, and how long a cycle goes on taking them: an image takes 0.6 ms, and a flood of set-ups must
# neither hold up the commands of clients nor make a long cycle.
_EVENTS_PER_POLL = 8
_EVENTS_NS_MAX = 10_000_000
# How long after images were removed their memory goes back to the system, and so how often at most. It takes 0.1 to 1 ms.
_MEMORY_DELAY_NS = 500_000_000


class DriverConductor(Agent):
    """Owns the tables of clients, publications, subscriptions and images.

    Invariant: everything here is touched by one thread at a time: the conductor's own, or the caller's of an invoker.
    """

    role_name = "client-commands"

    def __init__(
        self,
        core: DriverCore,
        *,
        resolver: Executor | None,
        lookups: Executor | None,
        on_terminate: Callable[[bytes], bool],
        names: DriverNames | None = None,
        lost_files: LostFiles | None = None,
    ) -> None:
        """`resolver` and `lookups` run calls that may block (None: in line): for names of clients' channels, and for silent names.

        `on_terminate` is asked whether a token ends the driver.
        """
        self.core = core
        context = core.context
        self.endpoints = Endpoints(core)
        sessions = Sessions(
            context.publication_reserved_session_id_low,
            context.publication_reserved_session_id_high,
            core.ports.random.below(1 << 32) - (1 << 31),
        )
        self.sessions = sessions
        self.subscriptions = Subscriptions(core, self.endpoints)
        self.waiting_logs = WaitingLogs(core.logs, core.errors, is_client=core.clients.has, answer_error=self._answer_error)
        self.images = Images(core, self.endpoints, self.subscriptions, self.waiting_logs)
        self.publications = Publications(
            core,
            self.endpoints,
            sessions,
            self.subscriptions,
            self.images,
            self.waiting_logs,
            on_made=lambda publication: link_publication(publication, self.subscriptions),
        )
        self.receive_destinations = ReceiveDestinations(core, self.endpoints)
        self.send_destinations = SendDestinations(core, self.publications.find)
        self.reresolution = ReResolution(core, self.endpoints, self.send_destinations, lookups)
        self.user_counters = UserCounters(counters=core.counters, client_proxy=core.client_proxy, clients=core.clients)
        self.channel_lookups = ChannelLookups(core, resolver, self._attempt)
        self._lost_files = lost_files
        self._names = names
        self._on_terminate = on_terminate
        self._flush_deadline_ns = 0
        self._memory_deadline_ns: int | None = None
        self._claim_sleep_ns = 0  # while a command is claimed and not written; else 0
        self._is_capture_over = core.capture is None

    def do_work(self, now_ns: int, _epoch_ms: int, /) -> int:
        """Do what there is to do, without blocking; returns how much that was."""
        core = self.core
        work = core.sender.flush() + core.receiver.flush() + core.conductor_agent.flush()
        work += self._handle_events()
        if self.waiting_logs:
            work += self.waiting_logs.proceed()
        if self._lost_files is not None:
            work += self._lost_files.check(self)
        repair_to_clients(core)
        work += self.reresolution.poll()
        work += self._handle_commands()
        if core.logs.pending:
            work += core.logs.free_some()
        else:
            self._give_back_memory(now_ns)
        if self._names is not None:
            work += self._names.do_work(now_ns)
        self._flush_capture(now_ns)
        return work

    def _give_back_memory(self, now_ns: int) -> None:
        """Give the memory of removed images back to the system, a while after the first of them was removed."""
        if self._memory_deadline_ns is None:
            if self.images.take_removed():
                self._memory_deadline_ns = now_ns + _MEMORY_DELAY_NS
        elif now_ns >= self._memory_deadline_ns:
            self._memory_deadline_ns = None
            give_back_memory()

    def next_deadline_ns(self) -> int:
        """Return when there is something to do if nobody posts an event or a command."""
        is_busy = self.core.logs.pending or not self.core.is_accepting_commands
        sleep_ns = self._claim_sleep_ns or (_SLEEP_NS_BUSY if is_busy else INT64_MAX if self._is_capture_over else _CAPTURE_FLUSH_NS)
        names_ns = INT64_MAX if self._names is None else self._names.next_deadline_ns()
        return min(self.core.ports.clock.now_ns() + sleep_ns, names_ns)

    def close(self) -> None:
        """Free files and sockets; the agents must have stopped."""
        self.publications.close()
        self.images.close()
        self.core.logs.close()
        self.endpoints.close()
        if self._names is not None:
            self._names.close()

    # Commands of clients ----------------------------------------------------------------------------------------------

    def on_add_publication(self, channel: ChannelUri, stream_id: int, correlation_id: int, client_id: int, *, is_exclusive: bool) -> None:
        self._check_new(correlation_id)

        def add(udp: UdpChannel | None) -> None:
            self.publications.add(channel, udp, stream_id, correlation_id, client_id, is_exclusive=is_exclusive)

        if _is_ipc(channel):
            add(None)
        else:
            self.channel_lookups.with_addresses(channel, correlation_id, add)

    def on_remove_publication(self, correlation_id: int, registration_id: int, *, is_revoked: bool) -> None:
        if self.waiting_logs.cancel(registration_id):
            self.core.client_proxy.operation_success(correlation_id)
        else:
            self.publications.remove(correlation_id, registration_id, is_revoked=is_revoked)

    def on_add_subscription(self, channel: ChannelUri, stream_id: int, correlation_id: int, client_id: int) -> None:
        self._check_new(correlation_id)

        def add_spy(udp: UdpChannel) -> None:
            self._link_local(self.subscriptions.add_spy(udp, stream_id, correlation_id, client_id))

        def add_network(udp: UdpChannel) -> None:
            self.images.link_subscription(self.subscriptions.add_network(udp, stream_id, correlation_id, client_id))

        if _is_ipc(channel):
            self._link_local(self.subscriptions.add_ipc(channel, stream_id, correlation_id, client_id))
        else:
            self.channel_lookups.with_addresses(channel, correlation_id, add_spy if channel.is_spy else add_network)

    def on_remove_subscription(self, correlation_id: int, registration_id: int) -> None:
        self.subscriptions.remove(correlation_id, registration_id)

    def on_add_send_destination(self, correlation_id: int, registration_id: int, channel: ChannelUri) -> None:
        self._check_new(correlation_id)
        text = check_send_destination(channel)
        self.send_destinations.channel_of(registration_id)

        def add(address: SocketAddress) -> None:
            self.send_destinations.add(correlation_id, registration_id, text, address)
            self.core.client_proxy.operation_success(correlation_id)

        self.channel_lookups.with_endpoint(channel, text, correlation_id, add)

    def on_remove_send_destination(self, correlation_id: int, registration_id: int, channel: ChannelUri) -> None:
        text = endpoint_of(channel)
        self.send_destinations.channel_of(registration_id)

        def remove(address: SocketAddress) -> None:
            self.send_destinations.remove(registration_id, address)
            self.core.client_proxy.operation_success(correlation_id)

        self.channel_lookups.with_endpoint(channel, text, correlation_id, remove)

    def on_remove_destination_by_id(self, correlation_id: int, registration_id: int, destination_registration_id: int) -> None:
        self.send_destinations.remove_by_id(registration_id, destination_registration_id)
        self.core.client_proxy.operation_success(correlation_id)

    def on_add_receive_destination(self, correlation_id: int, registration_id: int, channel: ChannelUri) -> None:
        def add_local(spied: UdpChannel | None) -> None:
            owner = self.subscriptions.find_multi_destination(registration_id)
            destination = self.subscriptions.add_local_destination(owner, channel, spied)
            self.core.client_proxy.operation_success(correlation_id)
            self._link_local(destination)

        def add_network(udp: UdpChannel) -> None:
            self.receive_destinations.add(self.subscriptions.find_multi_destination(registration_id), udp)
            self.core.client_proxy.operation_success(correlation_id)

        if _is_ipc(channel):
            add_local(None)
        elif channel.is_spy:
            self.channel_lookups.with_addresses(channel, correlation_id, add_local)
        else:
            check_destination(channel)
            self.channel_lookups.with_addresses(channel, correlation_id, add_network, is_destination=True)

    def on_remove_receive_destination(self, correlation_id: int, registration_id: int, channel: ChannelUri) -> None:
        if _is_ipc(channel) or channel.is_spy:
            self.subscriptions.remove_local_destination(registration_id, channel.original)
            self.core.client_proxy.operation_success(correlation_id)
            return

        def remove(udp: UdpChannel) -> None:
            self.receive_destinations.remove(self.subscriptions.find_multi_destination(registration_id, ErrorCode.INVALID_CHANNEL), udp)
            self.core.client_proxy.operation_success(correlation_id)

        self.channel_lookups.with_addresses(channel, correlation_id, remove, is_destination=True)

    def on_client_keepalive(self, client_id: int) -> None:
        self.core.clients.on_keepalive(client_id)

    def on_client_close(self, client_id: int) -> None:
        self.core.clients.on_close(client_id)

    def on_add_counter(self, correlation_id: int, client_id: int, type_id: int, key: bytes, label: str) -> None:
        self._check_new(correlation_id)
        self.user_counters.add(correlation_id, client_id, type_id, key, label)

    def on_add_static_counter(
        self, correlation_id: int, client_id: int, registration_id: int, type_id: int, key: bytes, label: str
    ) -> None:
        self.user_counters.add_static(correlation_id, client_id, registration_id, type_id, key, label)

    def on_remove_counter(self, correlation_id: int, registration_id: int) -> None:
        self.user_counters.remove(correlation_id, registration_id)

    def on_terminate_driver(self, token: bytes) -> None:
        # Termination has no answer: a client sees the heartbeat of -1, or nothing when it was denied.
        self._on_terminate(token)

    def on_reject_image(self, correlation_id: int, image_correlation_id: int, position: int, reason: str) -> None:
        if len(reason) > commands.REJECT_REASON_LENGTH_MAX:
            raise RegistrationError(
                "the reason for a rejection is too long",
                where=f"image {image_correlation_id}",
                expected=f"at most {commands.REJECT_REASON_LENGTH_MAX} bytes",
                actual=len(reason),
                error_code=ErrorCode.GENERIC_ERROR,
            )
        reject_image(self, image_correlation_id, position, reason)
        self.core.client_proxy.operation_success(correlation_id)

    def on_next_session_id(self, correlation_id: int, stream_id: int) -> None:
        self.core.client_proxy.next_available_session_id(correlation_id, self.sessions.next_for_stream(stream_id))

    def _check_new(self, correlation_id: int) -> None:
        """Refuse an id that names something: the tables would forget what they have under it, and nothing would free that."""
        holders = (self.publications, self.subscriptions, self.user_counters, self.send_destinations, self.waiting_logs)
        if any(holder.has(correlation_id) for holder in holders):
            raise RegistrationError(
                "the correlation id is in use",
                where="to-driver buffer",
                expected="an id of the buffer's correlation counter, each for one command",
                actual=correlation_id,
                error_code=ErrorCode.GENERIC_ERROR,
            )

    # Links ------------------------------------------------------------------------------------------------------------

    def remove_client(self, client_id: int) -> None:
        """Give back everything a client had."""
        # Its subscriptions first: nothing of its publications is to be read by them.
        self.subscriptions.remove_client(client_id)
        self.publications.remove_client(client_id)
        self.user_counters.remove_client(client_id)

    def _link_local(self, subscription: Subscription) -> None:
        link_subscription(subscription, self.publications, self.subscriptions)

    # Cycle ------------------------------------------------------------------------------------------------------------

    def _handle_events(self) -> int:
        clock = self.core.ports.clock
        deadline_ns = clock.now_ns() + _EVENTS_NS_MAX
        count = 0
        while count < _EVENTS_PER_CYCLE:
            events: list[Event] = self.core.events.poll(_EVENTS_PER_POLL)
            for event in events:
                try:
                    agent_events.handle(self, event)
                except Exception as error:  # one bad event must not end the driver
                    self.core.errors.record(error)
            count += len(events)
            if len(events) < _EVENTS_PER_POLL or clock.now_ns() >= deadline_ns:
                break
        return count

    def _handle_commands(self) -> int:
        count = 0
        while count < _COMMANDS_PER_CYCLE:
            if self.channel_lookups.is_waiting:
                if not self.channel_lookups.proceed():
                    break
            elif self.core.is_accepting_commands:
                batch = self.core.to_driver.poll(1)
                if not batch:
                    break
                self._execute(*batch[0])
            else:
                break
            count += 1
        # A claim whose writer has died keeps its place until the client liveness timeout: later looks are rarer.
        is_claimed = count == 0 and not self.channel_lookups.is_waiting and self.core.is_accepting_commands and self.core.to_driver.size > 0
        self._claim_sleep_ns = min(max(2 * self._claim_sleep_ns, _SLEEP_NS_UNFINISHED), _SLEEP_NS_BUSY) if is_claimed else 0
        report_skipped_commands(self.core)
        return count

    def _execute(self, message_type: int, body: bytes) -> None:
        self.core.conductor_events.command_in(message_type, body)
        self._attempt(client_command_adapter.correlation_id_of(body), lambda: client_command_adapter.dispatch(self, message_type, body))

    def _attempt(self, correlation_id: int, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception as error:  # told to the client; a bad command must not end the driver
            self._answer_error(correlation_id, error)

    def _answer_error(self, correlation_id: int, error: Exception) -> None:
        code = error.error_code if isinstance(error, AerowireError) else None
        if is_storage_error(error):
            code = ErrorCode.STORAGE_SPACE
        if code is None:
            code = ErrorCode.GENERIC_ERROR
        if code != ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
            self.core.errors.record(error)
        text = str(error) if isinstance(error, AerowireError) else describe(error)
        self.core.client_proxy.error(correlation_id, code, text)

    def _flush_capture(self, now_ns: int) -> None:
        capture = self.core.capture
        if capture is None or self._is_capture_over:
            return
        if now_ns >= self._flush_deadline_ns:
            self._flush_deadline_ns = now_ns + _CAPTURE_FLUSH_NS
            try:
                capture.flush()
            except StorageSpaceError as error:
                self._is_capture_over = True
                self.core.errors.record(error)


def _is_ipc(channel: ChannelUri) -> bool:
    # A spy of IPC is left to those that resolve channels, who refuse it.
    return channel.is_ipc and not channel.is_spy
