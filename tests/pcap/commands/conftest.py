"""The session of Spark that commands of these tests share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def kept_session(spark: Any) -> Iterator[None]:
    """Let the commands of a module share one session: each would open and stop its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(spark), "stop", lambda _: None)
        yield
