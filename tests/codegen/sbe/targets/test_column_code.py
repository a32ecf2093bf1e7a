"""The code of columns and record batches is itself lint-clean and formatted."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.codegen.output import write_files
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.targets.arrow import ArrowMessageTarget
from aerowire.codegen.sbe.targets.dtypes import DtypesMessageTarget
from tests.codegen.sbe.running import run

RULES = "E,F,W,I,B,UP,SIM,RUF,N,C4,RET,PTH,ARG"


@pytest.mark.parametrize("command", [("check", "--select", RULES), ("format", "--check")])
def test_code_is_clean(trading: MessageSchema, tmp_path: Path, command: tuple[str, ...]) -> None:
    for target in (DtypesMessageTarget(), ArrowMessageTarget()):
        write_files(tmp_path, target.render(trading, Placement("own.trading")), is_complete=False)
    run(tmp_path, "-m", "ruff", *command, "--isolated", "--line-length", "140", "--no-cache", ".")


def test_code_is_the_same_each_time(trading: MessageSchema) -> None:
    for target in (DtypesMessageTarget(), ArrowMessageTarget()):
        assert target.render(trading, Placement("one")) == target.render(trading, Placement("one"))
