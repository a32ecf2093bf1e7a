"""Steps that open what a client of an archive or a cluster uses: a client of the driver, and what the driver adds."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar

from aerowire.base.errors import AerowireError, RegistrationError
from aerowire.client.aeron import Aeron
from aerowire.codecs.tables.errors import ErrorCode

if TYPE_CHECKING:
    from aerowire.archive.client.client_options import ConcludedClientOptions
    from aerowire.client.handles.waiting import Pending

T = TypeVar("T")


def connect_client(
    options: ConcludedClientOptions, client_name: str, report: Callable[[AerowireError | None], object]
) -> Generator[Pending[Any] | None, Any, Aeron]:
    """Connect a client of the driver; `report` is told what stands in the way, and None once nothing does."""
    connecting = Aeron.async_connect(
        options.aeron_dir, client_name=client_name, properties=options.properties, environ=options.environ, ports=options.ports
    )
    try:
        while not connecting.poll():
            report(connecting.problem)
            yield None
    except BaseException:
        connecting.abandon()
        raise
    report(None)
    return connecting.result()


def add(start: Callable[[], Pending[T]], report: Callable[[AerowireError], object]) -> Generator[Pending[Any] | None, Any, T]:
    """Have the driver add something; what it refuses for the time being is asked for again, and `report` is told of it."""
    while True:
        try:
            added: T = yield start()
            return added
        except RegistrationError as error:
            if error.error_code != ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
                raise
            report(error)
            yield None
