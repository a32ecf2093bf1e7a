"""The faults that each case of the catalogue must find, and the words that show it failed for the right reason, a module a group."""

from __future__ import annotations

import importlib

from aerowire.conformance.catalogue import GROUPS
from tests.conformance.injector import Fault

MODULES = [importlib.import_module(f"tests.conformance.faults.groups.{group.module}") for group in GROUPS.values()]
FAULTS: tuple[Fault, ...] = tuple(fault for module in MODULES for fault in module.FAULTS)
