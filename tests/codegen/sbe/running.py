"""Python, formatters and type checkers run on generated code, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# The project's own rules, for files that are not the project's.
OURS = (f"--config={ROOT / 'pyproject.toml'}", "--config=extend-exclude=[]")


def run(folder: Path, *arguments: str, **environment: str) -> str:
    """Run Python in a folder, and return what it printed; whatever it exits with but 0 fails the test."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
