"""The compaction of an archive's directory `dir`, in a process that may be killed: prints `ready` right before it begins, `done` behind."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from aerowire.archive.files.compaction import compact, plan_compaction
from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.system.ports import Ports
from tests.support.peers.payloads import arguments


def main() -> int:
    directory = Path(arguments()["dir"])
    with OfflineCatalog(Ports.system().files, directory, writable=True) as catalog:
        print(json.dumps({"event": "ready"}), flush=True)
        compact(catalog, plan_compaction(catalog))
    print(json.dumps({"event": "done"}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
