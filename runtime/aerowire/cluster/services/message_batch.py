"""A run of session messages where they lie in the log, with arrays that tell of each. NumPy is imported when an array is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aerowire.base.errors import ClosedError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import DTypeLike

    Array64 = numpy.ndarray[Any, numpy.dtype[numpy.int64]]
    Array32 = numpy.ndarray[Any, numpy.dtype[numpy.int32]]

_INT64, _INT32 = 8, 4
_ARRAYS_64 = 3  # of 64 bits; those of 32 come behind them


class MessageBatch:
    """Session messages that follow each other in the log, with nothing else between them. Valid during the call of `on_batch`.

    A batch ends before a timer, a session that opens or closes, a term, or a snapshot; and where a term buffer ends, the log is committed,
    or `batch_limit` messages are reached. The last three differ between members: what a service does must depend on messages alone, not on
    where batches end. Message i is `data[offsets[i] : offsets[i] + lengths[i]]`; the arrays are read-only views, and what they show after
    the call is undefined. `copy()` of an array, or `batch[i]`, keeps it.
    """

    __slots__ = ("_capacity", "_count", "_data", "_index", "_is_held")

    def __init__(self, data: memoryview, index: Any, count: int, capacity: int) -> None:
        """`data` holds the messages; `index` is a buffer with room for `capacity` messages: 3 arrays of 64 bits, then 2 of 32."""
        self._data = data
        self._index = index
        self._count = count
        self._capacity = capacity
        self._is_held = True

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, position: int) -> bytes:
        """Return a copy of a message."""
        offset, length = self._number(0, position), self._number(1, position)
        return bytes(self._data[offset : offset + length])

    def __iter__(self) -> Iterator[bytes]:
        """Yield a copy of each message."""
        self._require_held()
        return map(self.__getitem__, range(self._count))

    @property
    def data(self) -> numpy.ndarray[Any, numpy.dtype[numpy.uint8]]:
        """The memory in which the messages lie."""
        import numpy

        self._require_held()
        return numpy.frombuffer(self._data, dtype=numpy.uint8)

    @property
    def session_ids(self) -> Array64:
        """The session of each message; one that no client has is a service's."""
        return self._array64(0)

    @property
    def timestamps(self) -> Array64:
        """The cluster's time of each message."""
        return self._array64(1)

    @property
    def positions(self) -> Array64:
        """The log position behind each message."""
        return self._array64(2)

    @property
    def offsets(self) -> Array32:
        """Where in `data` each message begins."""
        return self._array32(0)

    @property
    def lengths(self) -> Array32:
        """Bytes of each message."""
        return self._array32(1)

    def records(self, dtype: DTypeLike) -> numpy.ndarray[Any, Any]:
        """Return all messages as one array of `dtype`: a view where they lie at equal distances.

        Raises ValueError unless each is one item long.
        """
        import numpy

        found = numpy.dtype(dtype)
        if found.hasobject:
            raise TypeError(f"messages are bytes: they hold no Python objects, as {found} does")
        offsets, lengths = self.offsets, self.lengths
        if (lengths != found.itemsize).any():
            raise ValueError(f"messages have {lengths.min()} to {lengths.max()} bytes, an item of {found} has {found.itemsize}")
        steps = numpy.diff(offsets)
        if self._count == 1 or (steps == steps[0]).all():
            stride = int(steps[0]) if self._count > 1 else found.itemsize
            return numpy.ndarray(lengths.shape, dtype=found, buffer=self._data, offset=int(offsets[0]), strides=(stride,))
        rows = self.data[offsets[:, None] + numpy.arange(found.itemsize)]
        return numpy.ascontiguousarray(rows).view(found)[:, 0]

    @property
    def is_held(self) -> bool:
        """Whether the call that it was made for still goes on."""
        return self._is_held

    def release(self) -> None:
        """End the loan of the memory; the container does so after the call."""
        self._is_held = False

    def __repr__(self) -> str:
        return f"MessageBatch(count={self._count}, is_held={self._is_held})"

    def _number(self, array: int, position: int) -> int:
        self._require_held()
        if position < 0:
            position += self._count
        if not 0 <= position < self._count:
            raise IndexError(f"a batch of {self._count} messages has no number {position}")
        start = self._begin32(array) + position * _INT32
        return int(memoryview(self._index)[start : start + _INT32].cast("i")[0])

    def _array64(self, array: int) -> Array64:
        import numpy

        self._require_held()
        return numpy.frombuffer(self._index, numpy.int64, self._count, array * _INT64 * self._capacity)

    def _array32(self, array: int) -> Array32:
        import numpy

        self._require_held()
        return numpy.frombuffer(self._index, numpy.int32, self._count, self._begin32(array))

    def _begin32(self, array: int) -> int:
        return (_ARRAYS_64 * _INT64 + array * _INT32) * self._capacity

    def _require_held(self) -> None:
        if not self._is_held:
            raise ClosedError("the batch is released", where=self, hint="copy what is to be kept during the call of on_batch")
