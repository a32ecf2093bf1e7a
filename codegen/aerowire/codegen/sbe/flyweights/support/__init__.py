"""What the generated messages share.  Nothing in here knows a schema, and nothing is needed but the standard library."""

import os

if os.environ.get("AEROWIRE_SBE_PRECEDENCE_CHECKS", "").lower() in {"1", "true", "yes", "on"}:
    from .precedence import install

    install()
