"""The fuzzer's native engine (engine.c): built with the system's compiler when it is stale, loaded into this process.

`python -m tests.fuzz.engine` builds it and prints its path, for LD_PRELOAD: instrumented modules find their callbacks in it.
Modules of an ordinary build call nothing of it, so there an execution has no edges, and mutations are blind.
"""

from __future__ import annotations

import ctypes
import hashlib
from pathlib import Path

import hatch_build

SOURCE = Path(__file__).with_name("engine.c")
INPUT_LENGTH_MAX = 65_536
WORD_LENGTH_MAX = 31
_TRACE_CAPACITY = 1 << 17


def build_engine() -> Path:
    """Compile the engine unless that source has been compiled before; return the path of the library."""
    folder = hatch_build.ROOT / "build" / "fuzz"
    library = folder / f"engine-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = library.with_suffix(".partial")
        command = [hatch_build.c_compiler(), "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", str(SOURCE), "-o", str(partial), "-lpthread"]
        hatch_build.run(command)
        partial.replace(library)
    return library


class Engine:
    """One process's engine. Everything that it draws follows from `seed`."""

    def __init__(self, seed: int, words: tuple[bytes, ...] = ()) -> None:
        self._native = ctypes.CDLL(str(build_engine()), mode=ctypes.RTLD_GLOBAL)
        self._native.fuzz_random.restype = ctypes.c_uint64
        self._native.fuzz_cpu_ns.restype = ctypes.c_uint64
        self._native.fuzz_seed(ctypes.c_uint64(seed))
        assert all(0 < len(word) <= WORD_LENGTH_MAX for word in words)
        self._words = b"".join((bytes([len(word)]) + word).ljust(WORD_LENGTH_MAX + 1, b"\0") for word in words)
        self._word_count = len(words)
        self._buffer = (ctypes.c_uint8 * INPUT_LENGTH_MAX)()
        self._view = memoryview(self._buffer).cast("B")
        self._trace = (ctypes.c_uint32 * _TRACE_CAPACITY)()
        self.begin = self._native.fuzz_begin
        self.end = self._native.fuzz_end
        self.cpu_ns = self._native.fuzz_cpu_ns

    def mutate(self, data: bytes, other: bytes, capacity: int) -> bytes:
        """Return a mutation of `data`, perhaps with parts of `other`, of at most `capacity` bytes."""
        length = min(len(data), capacity)
        self._view[:length] = data[:length]
        length = self._native.fuzz_mutate(self._buffer, length, capacity, other, len(other), self._words, self._word_count)
        return bytes(self._view[:length])

    def below(self, bound: int) -> int:
        """Return a number from 0 to `bound` - 1."""
        return int(self._native.fuzz_random()) % bound

    def news(self) -> int:
        """Merge the edges of the last execution into those seen; return how many were new."""
        return int(self._native.fuzz_news())

    def edges_seen(self) -> int:
        """Return how many edges any execution has run."""
        return int(self._native.fuzz_edges_seen())

    def trace(self) -> frozenset[int]:
        """Return the edges of the last execution, each with the magnitude of its count."""
        count = self._native.fuzz_trace(self._trace, _TRACE_CAPACITY)
        return frozenset(self._trace[:count])

    def limit(self, milliseconds: int) -> None:
        """Abort the process when it has used so much more processor time; 0 lifts the limit."""
        self._native.fuzz_limit(milliseconds)

    def guard(self, is_on: bool) -> None:
        """Put pages that cannot be touched around every mapping that is made from now on (where the engine is preloaded)."""
        self._native.fuzz_guard(int(is_on))


if __name__ == "__main__":
    print(build_engine())
