"""The `aerowire` command.

Exit codes: 0 done, 1 a finding, 2 usage or unreadable input. Errors are one line on standard error. Nothing else is loaded before signals
are looked after: whoever starts a command may want it to end at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from aerowire.process.interruption import Interruption


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `aerowire` with `arguments` (default: the process's) and return the exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    is_endless = False

    def work() -> int:
        nonlocal is_endless
        try:
            from aerowire.tools.dispatch import parse

            parsed = parse(argv)
            is_endless = parsed.is_endless(parsed)
        finally:
            interruption.release()
        return int(parsed.run(parsed))

    with Interruption(is_last=arguments is None) as interruption:
        from aerowire.tools.exit_codes import exit_code_of

        return exit_code_of(work, interruption, "aerowire", is_endless=lambda: is_endless)


if __name__ == "__main__":
    sys.exit(main())
