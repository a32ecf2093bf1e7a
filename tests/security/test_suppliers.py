"""Authenticators and authorisation services by the names that options give them."""

from __future__ import annotations

import pytest

from aerowire.base.errors import ConfigurationError
from aerowire.cluster.sessions.authorisation import ALLOW_BACKUP_AND_STANDBY
from aerowire.security.authentication import Authenticator
from aerowire.security.authorisation import ALLOW_ALL, DENY_ALL
from aerowire.security.suppliers import authenticator_named, authorisation_named


def test_an_empty_name_stands_for_what_the_component_has_by_default() -> None:
    assert authorisation_named("", "option") is ALLOW_ALL
    assert authorisation_named("", "option", ALLOW_BACKUP_AND_STANDBY) is ALLOW_BACKUP_AND_STANDBY
    assert type(authenticator_named("", "option")) is Authenticator


def test_official_names_stand_for_what_they_say() -> None:
    assert authorisation_named("ALLOW_ALL", "option", DENY_ALL) is ALLOW_ALL
    assert authorisation_named("DENY_ALL", "option") is DENY_ALL
    assert type(authenticator_named("io.aeron.security.DefaultAuthenticatorSupplier", "option")) is Authenticator


def test_a_function_supplies_one_of_the_application() -> None:
    assert type(authenticator_named("aerowire.security.authentication:Authenticator", "option")) is Authenticator


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("com.example.Supplier", "at option; expected ALLOW_ALL, DENY_ALL, or package.module:name"),
        ("no.such.module:name", "cannot be made"),
        ("aerowire.security.suppliers:authorisation_named", "cannot be made"),
        ("builtins:dict", r"is not an authorisation service; at option; expected an object with is_authorised\(\); got {}"),
    ],
)
def test_what_supplies_none_is_refused(name: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        authorisation_named(name, "option")
