"""The `conformance` command: its exit code, and what Ctrl-C and SIGTERM do to it.

Little is loaded before signals are looked after: whoever starts a command may want it to end at once. A signal ends a run in order: the
driver under test is stopped and its files are removed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from aerowire.process.interruption import Interruption
from aerowire.process.output import code_of_parser

EXIT_FINDING, EXIT_USAGE = 1, 2
# The packages of the extra `conformance`; an installation may lack them.
EXTRA_PACKAGES = ("scapy",)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code. Interrupted it has come to no verdict, which is a finding."""
    with Interruption(is_last=arguments is None) as interruption:
        try:
            try:
                from aerowire.conformance.command_line import execute, parse

                options = parse(arguments)
            finally:
                interruption.release()
            return execute(options)
        except ModuleNotFoundError as error:
            if error.name not in EXTRA_PACKAGES:
                raise
            print(
                f"conformance: the package {error.name} is not installed; pip install 'aerowire[conformance]' installs it", file=sys.stderr
            )
            return EXIT_USAGE
        except SystemExit as error:
            return code_of_parser(error, "conformance")
        except BaseException as error:
            # Whatever an interruption became on its way up, it is one.
            if not interruption.is_requested and not isinstance(error, KeyboardInterrupt):
                raise
            from aerowire.conformance.progress import LiveLine

            LiveLine().clear()
            print("conformance: interrupted", file=sys.stderr)
            return EXIT_FINDING


if __name__ == "__main__":
    sys.exit(main())
