"""Semantic versions in one integer."""

from __future__ import annotations

import pytest

from aerowire.codecs.flyweights.archive_files import CATALOG_VERSION
from aerowire.recordings.versions import compose_version, major_version, version_parts, version_text


def test_the_version_of_catalogs_is_3_1_0() -> None:
    assert compose_version(3, 1, 0) == CATALOG_VERSION
    assert version_parts(CATALOG_VERSION) == (3, 1, 0)
    assert version_text(CATALOG_VERSION) == "3.1.0"
    assert major_version(CATALOG_VERSION) == 3


@pytest.mark.parametrize("parts", [(256, 0, 0), (1, -1, 0), (0, 0, 300)])
def test_a_part_that_does_not_fit_its_byte_is_refused(parts: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="0 to 255"):
        compose_version(*parts)
