"""The optional packages of the capture reader, and the extras of the distribution that install them."""

from __future__ import annotations

EXTRAS = {"pyarrow": "pcap", "pyspark": "spark", "pandas": "spark", "lxml": "codegen", "jinja2": "codegen"}


def missing_package(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return the error for a package of `EXTRAS` that is not installed, with the command that installs it."""
    name = str(error.name)
    return ModuleNotFoundError(f"the package {name} is not installed; pip install 'aerowire[{EXTRAS[name]}]' installs it", name=name)
