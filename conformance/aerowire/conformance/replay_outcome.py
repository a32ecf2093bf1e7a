"""What a replay was told to do to its datagrams, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from aerowire.conformance.model import Verdict


@dataclass(frozen=True, slots=True)
class Impairment:
    """Shares of the harness's datagrams, of every type, that are lost, sent twice or held back behind the next."""

    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    seed: int = 1

    @classmethod
    def parse(cls, text: str) -> Impairment:
        """Read `loss=0.05,reorder=0.1,seed=7`. Raises ValueError."""
        values: dict[str, float] = {}
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            name, separator, value = part.partition("=")
            if not separator or name not in {"loss", "duplicate", "reorder", "seed"}:
                raise ValueError(f"impairment {part!r}: expected loss=, duplicate=, reorder= or seed= and a number")
            try:
                values[name] = float(value)
            except ValueError:
                raise ValueError(f"impairment {part!r}: {value!r} is not a number") from None
            if name != "seed" and not 0.0 <= values[name] < 1.0:
                raise ValueError(f"impairment {part!r}: a share is at least 0 and below 1")
        return cls(values.get("loss", 0.0), values.get("duplicate", 0.0), values.get("reorder", 0.0), int(values.get("seed", 1)))


@dataclass(slots=True)
class StreamOutcome:
    """How one stream's replay went."""

    session_id: int
    stream_id: int
    is_reliable: bool = True
    datagrams_sent: int = 0
    datagrams_dropped: int = 0
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
            "impairment": {name: getattr(self.impairment, name) for name in ("loss", "duplicate", "reorder", "seed")},
            "streams": [
                {name: getattr(stream, name) for name in StreamOutcome.__slots__} | {"verdict": stream.verdict.value}
                for stream in self.streams
            ],
        }

    def lines(self) -> Iterator[str]:
        """Yield a report for people."""
        yield f"{self.file}: {self.datagrams_read} datagrams read, {self.datagrams_skipped} of no sender"
        for stream in self.streams:
            verdict = "FAIL" if stream.verdict is Verdict.FAIL else stream.verdict.value
            kind = "" if stream.is_reliable else ", unreliable"
            yield (
                f"  {verdict}  session {stream.session_id} stream {stream.stream_id}{kind}: {stream.datagrams_sent} datagrams sent, "
                f"{stream.datagrams_dropped} dropped on purpose, {stream.naks} NAKs, {stream.frames_resent} frames resent; "
                f"{stream.frames_delivered} of {stream.frames_expected} frames, {stream.messages_delivered} messages, "
                f"{stream.bytes_delivered} bytes delivered in {stream.duration_s:.1f} s"
            )
            if stream.finding or stream.inconclusive:
                yield f"        {stream.finding or stream.inconclusive}"
