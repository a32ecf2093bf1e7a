"""An extension by the name that an option gives it: `package.module:Class`."""

from __future__ import annotations

import importlib

from aerowire.base.errors import ConfigurationError

_EXPECTED = "package.module:Class of a ConsensusModuleExtension"


def extension_named(name: str, where: str) -> object:
    """Return a new object of the class that a name stands for; None for an empty name. Raises ConfigurationError."""
    if not name:
        return None
    module, separator, attribute = name.partition(":")
    if not separator:
        raise ConfigurationError("there is no such extension", where=where, expected=_EXPECTED, actual=repr(name))
    try:
        return getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigurationError("an extension cannot be made", where=where, expected=_EXPECTED, actual=f"{name}: {error}") from error
