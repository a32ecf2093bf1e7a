"""Authenticators and authorisation services by the names that options give them: the official ones, or `package.module:name`."""

from __future__ import annotations

import importlib
from typing import Any, TypeVar

from aerowire.base.errors import ConfigurationError
from aerowire.security.authentication import Authenticator
from aerowire.security.authorisation import ALLOW_ALL, DENY_ALL, AuthorisationService

T = TypeVar("T")

_DEFAULT_AUTHENTICATOR = "io.aeron.security.DefaultAuthenticatorSupplier"
_AUTHORISATION = {"ALLOW_ALL": ALLOW_ALL, "DENY_ALL": DENY_ALL}


def authenticator_named(name: str, where: str) -> Authenticator:
    """Return the authenticator that a name stands for. Raises ConfigurationError."""
    if name in {"", _DEFAULT_AUTHENTICATOR}:
        return Authenticator()
    found: Authenticator = _supplied(name, where, "an authenticator", "on_connected_session", _DEFAULT_AUTHENTICATOR)
    return found


def authorisation_named(name: str, where: str, default: AuthorisationService = ALLOW_ALL) -> AuthorisationService:
    """Return the authorisation service that a name stands for; an empty one stands for the default. Raises ConfigurationError."""
    if not name:
        return default
    if name in _AUTHORISATION:
        return _AUTHORISATION[name]
    found: AuthorisationService = _supplied(name, where, "an authorisation service", "is_authorised", "ALLOW_ALL, DENY_ALL")
    return found


def _supplied(name: str, where: str, what: str, method: str, known: str) -> Any:
    """Call what `package.module:name` names, and return its result, which must have a method."""
    module, separator, attribute = name.partition(":")
    expected = f"{known}, or package.module:name of a function that returns {what}"
    if not separator:
        raise ConfigurationError(f"there is no such supplier of {what}", where=where, expected=expected, actual=repr(name))
    try:
        supplied = getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigurationError(f"{what} cannot be made", where=where, expected=expected, actual=f"{name}: {error}") from error
    if not hasattr(supplied, method):
        raise ConfigurationError(
            f"what is supplied is not {what}", where=where, expected=f"an object with {method}()", actual=repr(supplied)
        )
    return supplied
