"""The arguments of `generate` and `check`: which schemas, which targets, which folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from aerowire.codegen.commands.common import shown
from aerowire.codegen.sources import default_spec, home
from aerowire.codegen.target_names import TARGETS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--spec", type=Path, metavar="DIR", help=f"folder of schemas (default: {shown(default_spec())})")
    parser.add_argument("--target", type=_targets, default=(), metavar="NAME,...", help=f"only these targets: {', '.join(TARGETS)}")
    help_text = "folder of the packages: messages' by their names, all else in aerowire/codecs (default: generated/ of this checkout)"
    parser.add_argument("--out", type=Path, metavar="DIR", help=help_text)


def _targets(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in TARGETS]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"unknown target {', '.join(unknown) or repr(text)}; there are {', '.join(TARGETS)}")
    return names


def output_folder(arguments: argparse.Namespace) -> Path | None:
    """The output folder; an installation has none of its own, which is told on standard error."""
    if arguments.out is not None:
        return Path(arguments.out)
    own = home() / "generated"
    if own.is_dir():
        return own
    print("codegen: --out DIR is needed outside a checkout", file=sys.stderr)
    return None
