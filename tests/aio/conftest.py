"""A client of an event loop on a fake driver in a thread, or on a real one; every test runs in a loop of its own, in debug mode."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pytest

from aerowire.driver import MediaDriver

# The driver made of shared memory that the client's own tests use.
from tests.client.conftest import FakeDriver, aeron_dir, driver

__all__ = ["FakeDriver", "aeron_dir", "driver"]

T = TypeVar("T")
LIMIT_S = 20.0


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a test's coroutine in a loop in debug mode; fail when it hangs or leaves tasks behind."""

    async def limited() -> T:
        async with asyncio.timeout(LIMIT_S):
            result = await coroutine
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, left
        return result

    return asyncio.run(limited(), debug=True)


@pytest.fixture(scope="module")
def real_driver() -> Iterator[MediaDriver]:
    with MediaDriver.launch_embedded(
        threading_mode="SHARED", term_buffer_length=65536, ipc_term_buffer_length=65536, timer_interval_ns=1_000_000
    ) as driver:
        yield driver


@pytest.fixture
def in_loop() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    return run
