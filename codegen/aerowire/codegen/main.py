"""The `codegen` command: its exit code, and what Ctrl-C and SIGTERM do to it.

Little is loaded before signals are looked after: whoever starts a command may want it to end at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from aerowire.process.interruption import Interruption
from aerowire.process.output import code_of_parser

FINDING, USAGE = 1, 2
# The packages of the extra `codegen`; an installation may lack them.
EXTRA_PACKAGES = ("lxml", "jinja2")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code. Interrupted it has not done its job, which is a finding."""
    with Interruption(is_last=argv is None) as interruption:
        try:
            try:
                from aerowire.codegen.command_line import execute, parse

                arguments = parse(argv)
            finally:
                interruption.release()
            return execute(arguments)
        except ModuleNotFoundError as error:
            if error.name not in EXTRA_PACKAGES:
                raise
            print(f"codegen: the package {error.name} is not installed; pip install 'aerowire[codegen]' installs it", file=sys.stderr)
            return USAGE
        except SystemExit as error:
            return code_of_parser(error, "codegen")
        except BaseException as error:
            # Whatever an interruption became on its way up, it is one.
            if not interruption.is_requested and not isinstance(error, KeyboardInterrupt):
                raise
            print("codegen: interrupted", file=sys.stderr)
            return FINDING


if __name__ == "__main__":
    sys.exit(main())
