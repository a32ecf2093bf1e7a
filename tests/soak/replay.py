"""Every golden capture replayed in both roles over networks that do their worst, each drawn from a seed.

A failure names the capture, the role and the impairment, as `conformance replay --as --impair` takes them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from aerowire.conformance.impairment import Impairment, Kind
from aerowire.conformance.model import Verdict
from aerowire.conformance.peers.base import Peer, started
from aerowire.conformance.peers.drivers import AerowirePeer, short_timers
from aerowire.conformance.replay import replay_file
from aerowire.conformance.replay_outcome import ReplayOutcome
from tests.conftest import SEED
from tests.soak.bars import Part, Size

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
# One holds no data, as nobody but a spy received it.
GOLDEN = sorted(path.stem for path in CAPTURES.glob("*.pcap") if path.stem != "spies_simulate_connection")
ROLES = ("sender", "receiver")
SEEDS = range(1, 51)
# A part is this many of them, some minutes long.
SEEDS_A_PART = 10
DRAWN = 2
# What did not leave the harness's socket on a loaded machine says nothing of the driver, and is tried again.
ATTEMPTS = 3

Play = tuple[str, str, int]


def drawn(seed: int) -> Impairment:
    """Return the network of a seed: a few things at once, each weak enough for the stream to get on."""
    chance = random.Random(f"impairment:{seed}")
    menu = {
        "loss": lambda: f"loss={chance.uniform(0.01, 0.1):.3f}",
        "every": lambda: f"loss.every={chance.randint(5, 30)}",
        "duplicate": lambda: f"duplicate={chance.uniform(0.02, 0.2):.3f}",
        "delay": lambda: f"delay={chance.uniform(0.02, 0.2):.3f},delay.ms={chance.randint(1, 40)}",
        "swap": lambda: f"swap={chance.uniform(0.02, 0.3):.3f}",
        "reverse": lambda: f"reverse={chance.randint(2, 12)}",
        "shuffle": lambda: f"shuffle={chance.randint(2, 12)}",
        "truncate": lambda: f"truncate={chance.uniform(0.01, 0.1):.3f}",
        "flip": lambda: f"flip={chance.uniform(0.01, 0.1):.3f}",
    }
    parts = [menu[name]() for name in chance.sample(sorted(menu), chance.randint(1, 4))]
    if any(part.startswith("loss") for part in parts):
        parts.append(f"loss.burst={chance.randint(1, 4)}")
        parts.append(f"loss.of={'+'.join(chance.sample(('data', 'setup', 'status', 'nak'), chance.randint(1, 4)))}")
    return Impairment.parse(",".join([*parts, f"seed={seed}"]))


def small_plays() -> Iterator[Play]:
    """Yield every capture in both roles, with two networks drawn from the run's seed."""
    for at in range(DRAWN):
        seed = random.Random(f"{SEED}:replay:{at}").randrange(1_000_000)
        for number, name in enumerate(GOLDEN):
            yield name, ROLES[(number + at) % len(ROLES)], seed


def full_plays(role: str, seeds: Iterable[int]) -> Iterator[Play]:
    """Yield every capture in one role, with some networks."""
    return ((name, role, seed) for seed in seeds for name in GOLDEN)


def play(peer: Peer, name: str, role: str, seed: int) -> ReplayOutcome:
    """Replay one capture and hold it to its content."""
    for _ in range(ATTEMPTS):
        outcome = replay_file(peer, CAPTURES / f"{name}.pcap", role=role, impairment=drawn(seed))
        if outcome.verdict is not Verdict.INCONCLUSIVE:
            break
    assert outcome.is_pass, "\n".join(outcome.lines())
    for stream in outcome.streams:
        assert stream.frames_delivered == stream.frames_expected or not stream.is_reliable, "\n".join(outcome.lines())
    return outcome


def run_on(kind: Peer, plays: list[Play]) -> str:
    """Replay to one driver; return what was measured."""
    with started(kind) as peer:
        streams = [stream for item in plays for stream in play(peer, *item).streams]
    lost, damaged = sum(stream.datagrams_dropped for stream in streams), sum(stream.datagrams_damaged for stream in streams)
    networks = [drawn(seed) for _, _, seed in plays]
    assert lost or not any((network.loss or network.loss_every) and Kind.DATA in network.loss_of for network in networks)
    assert damaged or not any(network.truncate or network.flip for network in networks)
    delivered = sum(stream.messages_delivered for stream in streams)
    naks = sum(stream.naks for stream in streams)
    return f"{len(streams)} streams, {delivered} messages, {lost} datagrams lost, {damaged} damaged, {naks} NAKs"


def run(plays: list[Play], scratch: Path) -> str:
    return run_on(AerowirePeer(short_timers(), scratch / "driver"), plays)


def parts(size: Size) -> list[Part]:
    if size is Size.SMALL:
        return [Part("drawn", SEED, partial(run, list(small_plays())))]
    return [
        Part(f"as-{role}-from-{first}", first, partial(run, list(full_plays(role, range(first, first + SEEDS_A_PART)))))
        for role in ROLES
        for first in SEEDS[::SEEDS_A_PART]
    ]
