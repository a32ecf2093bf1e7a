"""The version that outcomes of seeds are kept for: other code may make other worlds of them."""

from __future__ import annotations

import hashlib
import subprocess
from functools import cache
from pathlib import Path

from aerowire.base.version import VERSION

_LIMIT_S = 10.0


@cache
def code_version() -> str:
    """Return the version; of a checkout with the commit, and with a digest of what has been changed since."""
    root = Path(__file__).resolve().parents[4]
    if not (root / ".git").exists():
        return VERSION
    commit, changes = _git(root, "rev-parse", "--short=12", "HEAD"), _git(root, "diff", "HEAD")
    if commit is None or changes is None:
        return VERSION
    changed = f".{hashlib.sha256(changes).hexdigest()[:12]}" if changes else ""
    return f"{VERSION}+{commit.decode().strip()}{changed}"


def _git(root: Path, *arguments: str) -> bytes | None:
    try:
        return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=True, timeout=_LIMIT_S).stdout
    except (OSError, subprocess.SubprocessError):
        return None
