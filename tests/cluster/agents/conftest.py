"""A member's native agent on a driver and a client that are invoked by the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from aerowire.client import Aeron
from aerowire.driver import MediaDriver
from tests.cluster.agents.log_host import LogHost


@pytest.fixture
def hosts() -> Iterator[Callable[..., LogHost]]:
    """Make members; options are those of LogHost."""
    with ExitStack() as stack:

        def make(**options: Any) -> LogHost:
            driver = stack.enter_context(MediaDriver.launch_embedded(threading_mode="INVOKER", timer_interval_ns="10ms", environ={}))
            aeron = Aeron.connect(driver.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=driver.invoker)
            host = LogHost(driver, stack.enter_context(aeron), **options)
            stack.callback(host.close)
            return host

        yield make


@pytest.fixture
def host(hosts: Callable[..., LogHost]) -> LogHost:
    """Member 0 of three."""
    return hosts()
