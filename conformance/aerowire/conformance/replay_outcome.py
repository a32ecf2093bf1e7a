"""What a replay was told to do to its datagrams, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from aerowire.conformance.impairment import Impairment
from aerowire.conformance.model import Verdict

# The release whose drivers check frames in two layers and count what fails; older ones look at little more than the version.
TWO_LAYERS_SINCE = "1.53"

Progress = Callable[[str], None]


@dataclass(slots=True)
class StreamOutcome:
    """How one stream's replay went."""

    session_id: int
    stream_id: int
    is_reliable: bool = True
    # How many got the stream; each must get it whole, and frames, messages and bytes count for each.
    receivers: int = 1
    datagrams_sent: int = 0
    datagrams_dropped: int = 0
    # Sent damaged, which the driver must count as invalid; None where nobody counted.
    datagrams_damaged: int = 0
    invalid_counted: int | None = None
    naks: int = 0
    frames_resent: int = 0
    frames_expected: int = 0
    frames_delivered: int = 0
    messages_delivered: int = 0
    bytes_delivered: int = 0
    duration_s: float = 0.0
    content_sha256: str = ""
    finding: str = ""
    inconclusive: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether everything arrived as it should, or the harness could not even send it."""
        if self.inconclusive:
            return Verdict.INCONCLUSIVE
        return Verdict.FAIL if self.finding else Verdict.PASS


@dataclass(slots=True)
class ReplayOutcome:
    """How a capture's replay went."""

    file: str
    datagrams_read: int
    datagrams_skipped: int
    impairment: Impairment
    role: str = "sender"
    streams: list[StreamOutcome] = field(default_factory=list)

    @property
    def is_pass(self) -> bool:
        """Whether every stream passed."""
        return self.verdict is Verdict.PASS

    @property
    def verdict(self) -> Verdict:
        """The worst of the streams' verdicts."""
        verdicts = {stream.verdict for stream in self.streams}
        return next((verdict for verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE) if verdict in verdicts), Verdict.PASS)

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            "file": self.file,
            "verdict": self.verdict.value,
            "datagrams_read": self.datagrams_read,
            "datagrams_skipped": self.datagrams_skipped,
            "datagrams_replayed": sum(stream.datagrams_sent for stream in self.streams),
            "messages_delivered": sum(stream.messages_delivered for stream in self.streams),
            "bytes_delivered": sum(stream.bytes_delivered for stream in self.streams),
            "as": self.role,
            "impairment": self.impairment.to_dict(),
            "streams": [
                {name: getattr(stream, name) for name in StreamOutcome.__slots__} | {"verdict": stream.verdict.value}
                for stream in self.streams
            ],
        }

    def lines(self) -> Iterator[str]:
        """Yield a report for people."""
        yield f"{self.file}: {self.datagrams_read} datagrams read, {self.datagrams_skipped} of no sender; as {self.role}, {self.impairment}"
        for stream in self.streams:
            verdict = "FAIL" if stream.verdict is Verdict.FAIL else stream.verdict.value
            kind = "" if stream.is_reliable else ", unreliable"
            kind += f", {stream.receivers} receivers" if stream.receivers > 1 else ""
            yield (
                f"  {verdict}  session {stream.session_id} stream {stream.stream_id}{kind}: {stream.datagrams_sent} datagrams sent, "
                f"{stream.datagrams_dropped} dropped on purpose, {stream.datagrams_damaged} damaged, {stream.naks} NAKs, "
                f"{stream.frames_resent} frames resent; "
                f"{stream.frames_delivered} of {stream.frames_expected} frames, {stream.messages_delivered} messages, "
                f"{stream.bytes_delivered} bytes delivered in {stream.duration_s:.1f} s"
            )
            if stream.finding or stream.inconclusive:
                yield f"        {stream.finding or stream.inconclusive}"
