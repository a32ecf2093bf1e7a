"""Arguments that `aerowire file send` and `aerowire file receive` share: where the files go, which is where Aeron's samples go too."""

from __future__ import annotations

import argparse

from aerowire.tools.arguments import add_directory_arguments, seconds, stream_id

# Those of Aeron's samples. Aeron: SampleConfiguration.
CHANNEL_DEFAULT = "aeron:udp?endpoint=localhost:20121"
STREAM_DEFAULT = 1001


def add_stream_arguments(parser: argparse.ArgumentParser, *, peer: str) -> None:
    """Add --channel, --stream, --wait for a `peer`, --json, --dir and -D."""
    parser.add_argument("--channel", metavar="URI", default=CHANNEL_DEFAULT, help=f"channel of the files (default: {CHANNEL_DEFAULT})")
    parser.add_argument(
        "--stream", metavar="ID", type=stream_id, default=STREAM_DEFAULT, help=f"stream of the files (default: {STREAM_DEFAULT})"
    )
    parser.add_argument("--wait", metavar="SECONDS", type=seconds, help=f"give up when no {peer} is there in this time (default: never)")
    parser.add_argument("--json", action="store_true", help="print one JSON object a file, and show no progress")
    add_directory_arguments(parser)
