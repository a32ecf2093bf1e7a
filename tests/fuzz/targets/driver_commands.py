"""Commands of valid framing into the ring of a live driver: any type, any body, fields that name what there is."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from aerowire.base.errors import AerowireError
from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.simulation.world import SimulatedWorld
from tests.fuzz.fields import Fields, int32s, int64s
from tests.fuzz.target import FindingError

STEPS_MAX = 12
CLIENTS = 2
MS = 1_000_000
CHANNELS = (
    "aeron:ipc?term-length=64k",
    "aeron:udp?endpoint=10.0.0.1:40456|term-length=64k",
    "aeron:udp?control=10.0.0.1:40457|control-mode=manual|term-length=64k",
    "aeron:udp?endpoint=10.0.0.1:0|term-length=64k",
)
KINDS = tuple(kind for kind in CommandType if kind < CommandType.ON_ERROR and kind != CommandType.TERMINATE_DRIVER)
BODY_MAX = 500


class CommandsTarget:
    """Steps: 0 to 17 a command with an encoded body whose bytes then change, others a type and a body as they are, or time."""

    name = "commands"
    length_max = 400
    words = (
        int32s(2**31 - 1),
        int32s(-1),
        int64s(-1),
        int64s(1),
        int32s(1 << 30),
        b"aeron:ipc",
        b"aeron:udp?",
        b"\0\0\0\x40",
        b"|tags=1,2",
    )
    traced = (
        "driver/conductor/driver_conductor",
        "driver/conductor/client_command_adapter",
        "driver/resources/publications",
        "driver/resources/subscriptions",
        "driver/resources/clients",
    )

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="commands-"))
        self._world: SimulatedWorld | None = None
        self._count = 0
        self._bad: list[BaseException] = []
        self.renew()

    def renew(self) -> None:
        """Let the next execution begin with a new driver."""
        if self._world is not None:
            self._world.close()
        self._count += 1
        self._world = SimulatedWorld(seed=1)
        self._host = self._world.add_host("10.0.0.1", environ={}, timer_interval_ns="100ms", client_liveness_timeout_ns=1_000_000_000)
        self._ring, self._client_proxy = self._host.cnc.to_driver, self._host.cnc.to_clients_receiver()
        core: Any = self._host.driver.conductor.core
        object.__setattr__(core, "errors", _Errors(core.errors, self._bad))  # a frozen dataclass

    def seeds(self) -> Iterable[bytes]:
        """Return each command alone and after a publication and a subscription."""
        for number in range(len(KINDS)):
            yield bytes([number, 0, 0])
            yield b"\x00\x00\x00" + b"\x03\x00\x00" + bytes([number, 0x13, 0])
        yield b"\x20" + int32s(3) + b"\x05hello"

    def execute(self, data: bytes) -> None:
        """Send the commands; then time passes until the clients are given up."""
        fields = Fields(data)
        world = self._world
        assert world is not None
        ring = self._ring
        base = ring.next_correlation_id()
        for _ in range(STEPS_MAX):
            if fields.is_empty:
                break
            step = fields.unsigned(1)
            if step < 0x20:
                kind, body = self._encoded(step, base, fields)
            elif step < 0xC0:
                kind, body = fields.signed(4), fields.take(fields.unsigned(1))
                if kind == CommandType.TERMINATE_DRIVER:
                    continue
            else:
                world.run((1 << (step & 15)) * MS // 16)
                continue
            try:
                ring.write(kind, body[:BODY_MAX])
            except (AerowireError, ValueError):  # a type that a ring refuses
                continue
            self._settle()
        world.run(3_000 * MS)
        self._settle()

    def _settle(self) -> None:
        assert self._world is not None
        self._world.run(MS)
        while self._client_proxy.poll(64):
            pass
        if self._bad:
            raise FindingError("a command ended in an error that is not one of the driver's") from self._bad.pop()

    def _encoded(self, step: int, base: int, fields: Fields) -> tuple[int, bytes]:
        """Return a command whose ids are small numbers behind `base`, and whose body has then been changed."""
        kind = KINDS[step % len(KINDS)]
        choice = fields.unsigned(1)
        name = "".join(part.capitalize() for part in kind.name.split("_"))
        encoder = getattr(commands, f"{ENCODERS.get(kind, name)}Encoder")
        ids = {"client_id": base, "correlation_id": self._ring.next_correlation_id(), "stream_id": 1001}
        related = base + 1 + (choice >> 4)
        values: dict[str, Any] = {}
        for member in encoder.MEMBERS:
            if member in ids:
                values[member] = ids[member]
            elif member.endswith(("registration_id", "correlation_id", "_id")):
                values[member] = related
            elif member in {"channel", "endpoint", "destination", "label", "reason"}:
                values[member] = CHANNELS[choice & 3]
        body = bytearray(encoder.encode(**values))
        for _ in range(fields.unsigned(1) & 3):
            at, length = fields.unsigned(1), 1 + (fields.unsigned(1) & 15)
            changed = fields.take(length)
            body[at : at + len(changed)] = changed
        return kind, bytes(body)


# Commands whose layout has another name.
ENCODERS = {
    CommandType.ADD_EXCLUSIVE_PUBLICATION: "AddPublication",
    CommandType.ADD_RCV_DESTINATION: "AddDestination",
    CommandType.REMOVE_RCV_DESTINATION: "RemoveDestination",
}


class _Errors:
    """The driver's recorder of errors, and a list of those errors that are a defect of the driver."""

    def __init__(self, recorder: Any, bad: list[BaseException]) -> None:
        self._recorder, self._bad = recorder, bad

    def record(self, error: BaseException | str, *, key: Any = None) -> None:
        if isinstance(error, BaseException) and not isinstance(error, (AerowireError, OSError)):
            self._bad.append(error)
        self._recorder.record(error, key=key)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._recorder, name)
