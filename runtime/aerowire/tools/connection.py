"""A command's client: what ends it is told once, by the call that fails, and not by the client's log as well."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from aerowire.base.errors import ClientTimeoutError, DriverShutdownError, DriverTimeoutError
from aerowire.codecs.tables.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aerowire.client import Aeron

_NAME_PROPERTY = OPTIONS["client_name"].property
# Every later call on the client raises them too.
_ENDINGS = (ClientTimeoutError, DriverShutdownError, DriverTimeoutError)


def connect(name: str, *, aeron_dir: str | None = None, properties: Mapping[str, str] | None = None) -> Aeron:
    """Connect to the driver as `name`, unless properties say another; errors that no call raises are a line on standard error."""
    from aerowire.client import Aeron
    from aerowire.system.bus_error import explain_bus_errors
    from aerowire.tools.exit_codes import USAGE
    from aerowire.tools.terminal.figures import printable_error

    explain_bus_errors(USAGE)

    def tell(error: BaseException) -> None:
        if not isinstance(error, _ENDINGS):
            print(f"{name}: {printable_error(error)}", file=sys.stderr)

    return Aeron.connect(aeron_dir, properties={_NAME_PROPERTY: name, **(properties or {})}, error_handler=tell)
