"""The options of a service container, and what a launch refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aerowire.base.errors import ConfigurationError, DriverDirectoryMissingError, UnknownOptionError, WrongTypeError
from aerowire.cluster.services import ClusteredService, ClusteredServiceContainer, ClusteredServiceContext
from aerowire.codecs.tables.cluster_options import OPTIONS
from tests.cluster.services.noting_service import NotingService
from tests.support.waiting import wait_until

HERE = "tests.cluster.services.test_context"


def context_of(service: object = ClusteredService, **options: Any) -> ClusteredServiceContext:
    return ClusteredServiceContext(service, environ={}, **options)


def swallow(_error: BaseException) -> None:
    """Take an error."""


def test_every_option_is_an_attribute_and_comes_from_properties() -> None:
    context = context_of(
        properties={"aeron.cluster.service.id": "3", "aeron.cluster.id": "2", "aeron.cluster.service.cycle.threshold": "5ms"}
    )
    for option in OPTIONS.values():
        if "cluster-service" in option.scopes:
            assert hasattr(context, option.name)
            assert option.name in context.options
    assert (context.service_id, context.cluster_id, context.service_cycle_threshold_ns) == (3, 2, 5_000_000)
    assert context.service_name == "clustered-service-2-3"
    assert context.archive_response_stream_id == 324
    assert context.archive_channel("req") == "aeron:ipc?term-length=64k|alias=sc-3-archive-ctrl-req-cluster-2"
    assert context_of(thread_naming="new", service_id=3).service_name == "aeron-cl-cs-3"
    assert context_of(thread_naming="new", service_name="orders").service_name == "orders"


def test_a_service_is_an_object_a_class_or_a_name() -> None:
    service = NotingService()
    assert context_of(service).calls.service is service
    assert isinstance(context_of(NotingService).calls.service, NotingService)
    named = ClusteredServiceContext(service_class_name="tests.cluster.services.noting_service:NotingService", environ={})
    assert isinstance(named.calls.service, NotingService)


def test_error_handlers_are_called_in_order() -> None:
    handlers = context_of(service_delegating_error_handler=f"{HERE}:swallow", error_handler=print).error_handlers
    assert [handler.__name__ for handler in handlers] == ["swallow", "print"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"service_id": 10}, "aeron.cluster.service.id is out of range.*0 to 9"),
        ({"log_fragment_limit": 0}, "aeron.cluster.log.fragment.limit is out of range"),
        ({"service_error_buffer_length": 1000}, "aeron.cluster.service.error.buffer.length is out of range"),
        ({"local_control_channel": "aeron:udp?endpoint=localhost:1"}, "another medium.*aeron:ipc"),
        ({"idle_strategy": "hectic"}, "aeron.cluster.idle.strategy"),
        ({"batch_limit": 0}, "batch_limit is out of range"),
        ({"service_delegating_error_handler": "nobody"}, "package.module:name"),
        ({"service_delegating_error_handler": f"{HERE}:none"}, "cannot be imported"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        context_of(**options)


def test_what_is_no_option_is_refused() -> None:
    with pytest.raises(UnknownOptionError):
        context_of(service_number=1)
    with pytest.raises(ConfigurationError, match=r"aeron.cluster.service.class.name is not set"):
        ClusteredServiceContext(environ={})
    with pytest.raises(WrongTypeError):
        context_of(termination_hook=1)
    with pytest.raises(TypeError, match="not both"):
        ClusteredServiceContainer.async_launch(ClusteredService(), context_of())


def test_a_launch_without_a_driver_says_so(tmp_path: Path) -> None:
    launching = ClusteredServiceContainer.async_launch(
        ClusteredService, aeron_dir=tmp_path / "none", cluster_dir=str(tmp_path / "cluster"), environ={"AERON_DRIVER_TIMEOUT": "1"}
    )
    wait_until(launching.poll, "it still looks for the driver")
    with pytest.raises(DriverDirectoryMissingError):
        launching.result()
    assert not (tmp_path / "cluster").exists()
