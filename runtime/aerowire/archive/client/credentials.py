"""Credentials of a client of an archive or a cluster. Aeron: CredentialsSupplier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class CredentialsSupplier(Protocol):
    """Supplies the credentials of a connection, and the answer to a challenge. The authenticator at the other end defines their form."""

    def encoded_credentials(self) -> bytes:
        """Return what the connect request carries."""
        ...

    def on_challenge(self, encoded_challenge: bytes) -> bytes:
        """Return the answer to a challenge."""
        ...


@dataclass(frozen=True, slots=True)
class FixedCredentials:
    """Credentials that never change: those of the connect request, and the answer to any challenge. Both empty: none."""

    credentials: bytes = b""
    challenge_response: bytes = b""

    def encoded_credentials(self) -> bytes:
        """Return the credentials."""
        return self.credentials

    def on_challenge(self, _encoded_challenge: bytes) -> bytes:
        """Return the answer, whatever the challenge."""
        return self.challenge_response
