"""A small client of any driver: commands in, responses out, kept alive by its heartbeat counter.

It does what a case needs and no more: no conductor, no retries, no callbacks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.conformance.harness.broadcast import BroadcastReader
from aerowire.conformance.harness.cnc import CncFile, DriverUnreachableError
from aerowire.conformance.harness.counters import CountersReader
from aerowire.conformance.harness.log import ExclusiveAppender, Fragment, ImagePoller, LogFile
from aerowire.conformance.harness.ring import RingWriter
from aerowire.conformance.model import Deviation

RESPONSE_TIMEOUT_S = 5.0
HEARTBEAT_PERIOD_S = 0.2
GRACEFUL = commands.RemovePublicationFlags(0)


class CommandRefused(Deviation):
    """The driver answered a command with an error."""

    def __init__(self, what: str, code: int, message: str) -> None:
        self.code = code
        name = ErrorCode(code).name if code in ErrorCode._value2member_map_ else "unknown code"
        super().__init__(f"{what} to be accepted", f"error {code} ({name}): {message}")

    @property
    def is_address_in_use(self) -> bool:
        """Whether another program has bound the port since the harness chose it; another attempt uses another."""
        return "address already in use" in self.actual.lower()


class Image:
    """An image that the driver announced, with its log mapped."""

    def __init__(self, event: commands.AvailableImageDecoder, counters: CountersReader) -> None:
        self.correlation_id: int = event.correlation_id
        self.session_id: int = event.session_id
        self.stream_id: int = event.stream_id
        self.subscription_id: int = event.subscription_registration_id
        self.position_counter_id: int = event.subscriber_position_counter_id
        self.source_identity: str = event.source_identity
        self.log = LogFile(Path(event.log_file))
        self._counters = counters
        self.join_position = counters.value(self.position_counter_id)
        self.poller = ImagePoller(self.log, self.join_position)

    @property
    def position(self) -> int:
        """What the driver knows this subscriber to have consumed."""
        return self._counters.value(self.position_counter_id)

    def consume(self, limit: int = 1000) -> list[Fragment]:
        """Poll and publish the position reached."""
        fragments = self.poller.poll(limit)
        self.publish()
        return fragments

    def publish(self) -> None:
        """Tell the driver how far the poller has come."""
        self._counters.set_value(self.position_counter_id, self.poller.position)


class Publication:
    """An exclusive publication of the harness, with its log mapped."""

    def __init__(self, event: commands.PublicationReadyDecoder, counters: CountersReader) -> None:
        self.registration_id: int = event.registration_id
        self.session_id: int = event.session_id
        self.stream_id: int = event.stream_id
        self.limit_counter_id: int = event.position_limit_counter_id
        self.channel_status_id: int = event.channel_status_counter_id
        self.log = LogFile(Path(event.log_file))
        self.appender = ExclusiveAppender(self.log, self.session_id, self.stream_id)
        self.start_position = self.appender.position
        self._counters = counters

    @property
    def limit(self) -> int:
        """How far a publisher may write."""
        return self._counters.value(self.limit_counter_id)

    @property
    def position(self) -> int:
        """How far the harness has written."""
        return self.appender.position

    def append(self, message: bytes) -> int:
        """Append a message whatever the limit says; return the position behind it."""
        return self.appender.append(message)

    def claim(self, length: int) -> int:
        """Claim room for a message that is never committed; return the position behind it."""
        return self.appender.claim(length)

    def append_copies(self, message: bytes, count: int) -> int:
        """Append a message of one frame many times over while the driver may send nothing; return the position behind it."""
        return self.appender.append_copies(message, count)


class Client:
    """One registered client of the driver in `directory`."""

    def __init__(self, directory: Path, *, timeout_s: float = 10.0) -> None:
        self._cnc = CncFile(directory, timeout_s=timeout_s)
        mapping = self._cnc.mapping
        self._ring = RingWriter(mapping, *self._cnc.to_driver)
        self._broadcast = BroadcastReader(mapping, *self._cnc.to_clients)
        self.counters = CountersReader(mapping, self._cnc.counters_metadata, self._cnc.counters_values)
        self.id = self._ring.next_correlation_id()
        self.images: list[Image] = []
        self.unavailable: list[int] = []
        self.publication_errors: list[commands.PublicationErrorFrameDecoder] = []
        self.dead_clients: list[int] = []
        self.gone_counters: list[int] = []
        # The codes of all errors, whatever command they answer.
        self.refusals: list[int] = []
        self._answers: dict[int, tuple[int, bytes]] = {}
        self._subscriptions: dict[int, int] = {}
        self._channel_statuses: dict[int, int] = {}
        self._publications: dict[int, Publication] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep_alive, name="harness-heartbeat", daemon=True)
        self._thread.start()

    def fall_silent(self) -> None:
        """Give no more signs of life."""
        self._stop.set()
        self._thread.join()

    def close(self) -> None:
        """Take leave of the driver, give everything back and unmap."""
        self.fall_silent()
        body = commands.ClientCloseEncoder.encode(client_id=self.id, correlation_id=self._ring.next_correlation_id())
        self._ring.write(CommandType.CLIENT_CLOSE, body)
        for image in self.images:
            image.log.close()
        for publication in self._publications.values():
            publication.log.close()
        self._cnc.close()

    # -- commands ---------------------------------------------------------------------------------------------------

    def add_subscription(self, channel: str, stream_id: int) -> int:
        """Add a subscription; return its registration id."""
        correlation_id = self._ring.next_correlation_id()
        body = commands.AddSubscriptionEncoder.encode(
            client_id=self.id,
            correlation_id=correlation_id,
            registration_correlation_id=commands.NULL_CORRELATION_ID,
            stream_id=stream_id,
            channel=channel,
        )
        self._subscriptions[correlation_id] = stream_id
        try:
            answer = self._command(CommandType.ADD_SUBSCRIPTION, correlation_id, body, f"subscription {channel}")
        except Deviation:
            del self._subscriptions[correlation_id]
            raise
        self._channel_statuses[correlation_id] = commands.SubscriptionReadyDecoder(answer).channel_status_counter_id
        return correlation_id

    def bound_to(self, subscription_id: int) -> list[str]:
        """Return the addresses, as text, that the endpoint of a subscription is bound to."""
        return self.counters.bound_to(self._channel_statuses[subscription_id])

    def add_publication(self, channel: str, stream_id: int, *, is_exclusive: bool = True) -> Publication:
        """Add a publication; one that is not exclusive is shared with whoever adds it too."""
        correlation_id = self._ring.next_correlation_id()
        body = commands.AddPublicationEncoder.encode(client_id=self.id, correlation_id=correlation_id, stream_id=stream_id, channel=channel)
        what = f"publication {channel}"
        kind = CommandType.ADD_EXCLUSIVE_PUBLICATION if is_exclusive else CommandType.ADD_PUBLICATION
        answer = self._command(kind, correlation_id, body, what)
        publication = Publication(commands.PublicationReadyDecoder(answer), self.counters)
        self._publications[publication.registration_id] = publication
        return publication

    def remove_publication(self, publication: Publication, flags: commands.RemovePublicationFlags = GRACEFUL) -> None:
        """Give a publication back; the driver drains it and lets it linger, unless the flags revoke it."""
        correlation_id = self._ring.next_correlation_id()
        body = commands.RemovePublicationEncoder.encode(
            client_id=self.id,
            correlation_id=correlation_id,
            registration_id=publication.registration_id,
            flags=flags,
        )
        self._command(CommandType.REMOVE_PUBLICATION, correlation_id, body, "removal of the publication")

    def remove_subscription(self, registration_id: int) -> None:
        """Give a subscription back."""
        correlation_id = self._ring.next_correlation_id()
        body = commands.RemoveSubscriptionEncoder.encode(client_id=self.id, correlation_id=correlation_id, registration_id=registration_id)
        self._command(CommandType.REMOVE_SUBSCRIPTION, correlation_id, body, "removal of the subscription")

    def reject_image(self, image_id: int, position: int, reason: str) -> None:
        """Reject an image, named by its correlation id."""
        correlation_id = self._ring.next_correlation_id()
        body = commands.RejectImageEncoder.encode(
            client_id=self.id, correlation_id=correlation_id, image_correlation_id=image_id, position=position, reason=reason
        )
        self._command(CommandType.REJECT_IMAGE, correlation_id, body, "rejection of the image")

    def add_destination(self, publication: Publication, channel: str) -> int:
        """Let a publication send to one place more; return the destination's registration id."""
        return self._destination(CommandType.ADD_DESTINATION, publication.registration_id, channel)

    def remove_destination(self, publication: Publication, channel: str) -> None:
        """Let a publication send to one place less."""
        self._destination(CommandType.REMOVE_DESTINATION, publication.registration_id, channel)

    def remove_destination_by_id(self, publication: Publication, destination_id: int) -> None:
        """Let a publication send to one place less, which is named by its registration id."""
        correlation_id = self._ring.next_correlation_id()
        body = commands.RemoveDestinationByIdEncoder.encode(
            client_id=self.id,
            correlation_id=correlation_id,
            resource_registration_id=publication.registration_id,
            destination_registration_id=destination_id,
        )
        self._command(CommandType.REMOVE_DESTINATION_BY_ID, correlation_id, body, f"removal of destination {destination_id}")

    def add_receive_destination(self, subscription_id: int, channel: str) -> None:
        """Let a subscription receive at one place more."""
        self._destination(CommandType.ADD_RCV_DESTINATION, subscription_id, channel)

    def remove_receive_destination(self, subscription_id: int, channel: str) -> None:
        """Let a subscription receive at one place less."""
        self._destination(CommandType.REMOVE_RCV_DESTINATION, subscription_id, channel)

    def remove_unchecked(self, type_id: CommandType, registration_id: int) -> None:
        """Remove a publication, subscription or counter by its registration id, which may be nobody's."""
        correlation_id = self._ring.next_correlation_id()
        body = commands.RemoveCounterEncoder.encode(client_id=self.id, correlation_id=correlation_id, registration_id=registration_id)
        if type_id == CommandType.REMOVE_PUBLICATION:
            body = commands.RemovePublicationEncoder.encode(
                client_id=self.id, correlation_id=correlation_id, registration_id=registration_id
            )
        self._command(type_id, correlation_id, body, f"{type_id.name} {registration_id}")

    def add_counter(self, type_id: int, label: str, key: bytes = b"") -> tuple[int, int]:
        """Add a counter that lives as long as this client; return its registration id and its counter id."""
        correlation_id = self._ring.next_correlation_id()
        body = commands.AddCounterEncoder.encode(client_id=self.id, correlation_id=correlation_id, type_id=type_id, key=key, label=label)
        answer = self._command(CommandType.ADD_COUNTER, correlation_id, body, f"counter {label}")
        return correlation_id, commands.CounterUpdateDecoder(answer).counter_id

    def add_static_counter(self, type_id: int, registration_id: int, label: str, key: bytes = b"") -> int:
        """Add a counter that belongs to nobody, or find it; return its counter id."""
        correlation_id = self._ring.next_correlation_id()
        body = commands.AddStaticCounterEncoder.encode(
            client_id=self.id, correlation_id=correlation_id, registration_id=registration_id, type_id=type_id, key=key, label=label
        )
        answer = self._command(CommandType.ADD_STATIC_COUNTER, correlation_id, body, f"static counter {label}")
        return commands.StaticCounterDecoder(answer).counter_id

    def next_session_id(self, stream_id: int) -> int:
        """Return a session id that no publication of the stream has."""
        correlation_id = self._ring.next_correlation_id()
        body = commands.GetNextAvailableSessionIdEncoder.encode(client_id=self.id, correlation_id=correlation_id, stream_id=stream_id)
        answer = self._command(CommandType.GET_NEXT_AVAILABLE_SESSION_ID, correlation_id, body, "the next session id")
        return commands.NextAvailableSessionIdDecoder(answer).session_id

    def terminate(self, token: bytes = b"") -> None:
        """Ask the driver to end, which nobody answers."""
        correlation_id = self._ring.next_correlation_id()
        body = commands.TerminateDriverEncoder.encode(client_id=self.id, correlation_id=correlation_id, token=token)
        self._ring.write(CommandType.TERMINATE_DRIVER, body)

    def send_raw(self, type_id: int, body: bytes) -> None:
        """Write a command as it is, which may not be one."""
        self._ring.write(type_id, body)

    def _destination(self, type_id: CommandType, registration_id: int, channel: str) -> int:
        correlation_id = self._ring.next_correlation_id()
        body = commands.DestinationCommandEncoder.encode(
            client_id=self.id, correlation_id=correlation_id, registration_id=registration_id, channel=channel
        )
        self._command(type_id, correlation_id, body, f"{type_id.name} {channel}")
        return correlation_id

    # -- news -------------------------------------------------------------------------------------------------------

    def poll(self) -> None:
        """Take in what the driver broadcast."""
        for type_id, body in self._broadcast.poll():
            match type_id:
                case CommandType.ON_AVAILABLE_IMAGE:
                    self._on_available_image(body)
                case CommandType.ON_UNAVAILABLE_IMAGE:
                    event = commands.UnavailableImageDecoder(body)
                    if event.subscription_registration_id in self._subscriptions:
                        self.unavailable.append(event.correlation_id)
                case CommandType.ON_PUBLICATION_ERROR:
                    error = commands.PublicationErrorFrameDecoder(body)
                    if error.registration_id in self._publications:
                        self.publication_errors.append(error)
                case CommandType.ON_CLIENT_TIMEOUT:
                    client_id = commands.ClientTimeoutDecoder(body).client_id
                    if client_id == self.id:
                        raise DriverUnreachableError("the driver declared the harness's client dead")
                    self.dead_clients.append(client_id)
                case CommandType.ON_UNAVAILABLE_COUNTER:
                    # As with every other response, what it belongs to comes first.
                    self.gone_counters.append(commands.OperationSuccessDecoder(body).correlation_id)
                case CommandType.ON_ERROR:
                    refusal = commands.ErrorResponseDecoder(body)
                    self.refusals.append(refusal.error_code)
                    self._answers[refusal.offending_correlation_id] = (type_id, body)
                case _:
                    # Every other response begins with the correlation id that it answers.
                    self._answers[commands.OperationSuccessDecoder(body).correlation_id] = (type_id, body)

    def images_of(self, subscription_id: int) -> list[Image]:
        """Return the images announced so far for a subscription."""
        self.poll()
        return [image for image in self.images if image.subscription_id == subscription_id]

    def wait_for(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Poll until `condition` holds; return whether it did in time."""
        deadline = time.monotonic() + timeout_s
        while True:
            self.poll()
            if condition():
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.0005)

    def system_counter(self, counter: SystemCounter) -> int:
        """Return the value of a system counter."""
        return self.counters.value(counter)

    def stream_counter(self, type_id: CounterType, registration_id: int) -> int:
        """Return the value of a counter of the image or publication registered so. Raises Deviation when there is none."""
        found = self.counters.find(type_id, registration_id=registration_id)
        if found is None:
            raise Deviation(f"a {type_id.name} counter with registration id {registration_id}", "no such counter")
        return self.counters.value(found.id)

    def driver_errors(self) -> list[str]:
        """Return the texts of the driver's error log."""
        return self._cnc.errors()

    @property
    def driver_pid(self) -> int:
        """The driver's process."""
        return self._cnc.pid

    def is_driver_alive(self, within_ms: int = 5_000) -> bool:
        """Say whether the driver gave a sign of life lately."""
        return self._cnc.is_alive(within_ms)

    def _command(self, type_id: CommandType, correlation_id: int, body: bytes, what: str) -> bytes:
        self._ring.write(type_id, body)
        if not self.wait_for(lambda: correlation_id in self._answers, RESPONSE_TIMEOUT_S):
            raise DriverUnreachableError(f"{what}: no answer in {RESPONSE_TIMEOUT_S:g} s")
        answer_type, answer = self._answers.pop(correlation_id)
        if answer_type == CommandType.ON_ERROR:
            error = commands.ErrorResponseDecoder(answer)
            raise CommandRefused(what, error.error_code, error.error_message)
        return answer

    def _on_available_image(self, body: bytes) -> None:
        event = commands.AvailableImageDecoder(body)
        if event.subscription_registration_id in self._subscriptions:
            self.images.append(Image(event, self.counters))

    def _keep_alive(self) -> None:
        heartbeat_id: int | None = None
        while not self._stop.wait(HEARTBEAT_PERIOD_S if heartbeat_id is not None else 0.02):
            if heartbeat_id is None:
                found = self.counters.find(CounterType.CLIENT_HEARTBEAT, registration_id=self.id)
                heartbeat_id = found.id if found is not None else None
            if heartbeat_id is not None:
                self.counters.set_value(heartbeat_id, time.time_ns() // 1_000_000)
