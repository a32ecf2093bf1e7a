"""Public names of the package and its parts are loaded at first use, and listed before."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

PACKAGES = ["aerowire.pcap", *(f"aerowire.pcap.{part}" for part in ("analysis", "archive", "sbe", "spark"))]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_is_listed_and_another_is_none(name: str) -> None:
    package = importlib.import_module(name)
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nonsense'"):
        package.nonsense  # noqa: B018


def test_a_name_is_loaded_when_it_is_used() -> None:
    from aerowire.pcap import CaptureError
    from aerowire.pcap.archive import Damage, recordings

    modules = [one.__module__ for one in (CaptureError, Damage, recordings)]
    assert modules == ["aerowire.pcap.errors", "aerowire.pcap.archive.damage", "aerowire.pcap.archive.catalog"]


def test_an_import_of_a_package_loads_none_of_its_modules() -> None:
    code = f"import sys, {', '.join(PACKAGES)}; print(*[name for name in sys.modules if name.startswith(('aerowire.pcap', 'pyarrow'))])"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert sorted(found) == sorted([*PACKAGES, "aerowire.pcap.extras", "aerowire.pcap.lazy_names"])
