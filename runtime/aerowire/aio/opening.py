"""What is being opened: awaited it gives the thing itself, with `async with` it is closed at the end."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar


class Closable(Protocol):
    """What ends its own `async with`."""

    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


T = TypeVar("T", bound=Closable)


class Opening(Generic[T]):
    """`await opening` or `async with opening as thing`, once. Nothing happens before."""

    def __init__(self, open_it: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._open_it = open_it
        self._opened: T | None = None

    def __await__(self) -> Generator[Any, None, T]:
        return self._open_it().__await__()

    async def __aenter__(self) -> T:
        self._opened = await self._open_it()
        return await self._opened.__aenter__()

    async def __aexit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        assert self._opened is not None
        await self._opened.__aexit__(error_type, error, traceback)
