"""What every command says of itself, and what it costs to ask."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest

from aerowire.tools.dispatch import _OWN
from aerowire.tools.main import main

# Commands that only gather others.
FAMILIES = {"pcap"}
CODE = """
import sys
from aerowire.tools import main
for name in {names!r}:
    try:
        main.main([*name.split(), "--help"])
    except SystemExit:
        pass
loaded = {{"numpy", "rich", "aerowire.driver.media_driver", "aerowire.client", "aerowire.ipc.cnc", "importlib.metadata"}} & set(sys.modules)
assert not loaded, loaded
"""


@pytest.mark.parametrize("name", sorted(set(_OWN) - FAMILIES))
def test_help_has_examples_and_exit_codes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*name.split(), "--help"])
    text = capsys.readouterr().out
    assert caught.value.code == 0
    assert text.startswith(f"usage: aerowire {name} ")
    assert "Examples:\n  aerowire " in text
    assert "Exit codes: 0 " in text


def test_half_of_a_command_of_two_words_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["file", "--help"])
    listed = capsys.readouterr().out
    assert (caught.value.code, "file send" in listed, "file receive" in listed, "doctor" in listed) == (0, True, True, False)
    with pytest.raises(SystemExit) as caught:
        main(["file"])
    assert (caught.value.code, "(choose from 'file send', 'file receive')" in capsys.readouterr().err) == (2, True)


def test_help_loads_nothing_that_takes_long() -> None:
    names = sorted(set(_OWN) - FAMILIES)
    subprocess.run([sys.executable, "-c", CODE.format(names=names)], check=True, stdout=subprocess.DEVNULL, timeout=60)


def test_version_is_the_one_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"aerowire {metadata.version('aerowire')}\n"
