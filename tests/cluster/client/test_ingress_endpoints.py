"""Ingress endpoints as text."""

from __future__ import annotations

import pytest

from aerowire.base.errors import ConfigurationError
from aerowire.cluster.client.ingress_endpoints import parse_ingress_endpoints


def test_reads_members_in_the_order_of_the_text() -> None:
    assert list(parse_ingress_endpoints("2=c:1, 0=[::1]:2,1=a.b:3").items()) == [(2, "c:1"), (0, "[::1]:2"), (1, "a.b:3")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "localhost:9002",
        "x=localhost:9002",
        "-1=a:1",
        "0=",
        "0=a:1,",
        "٣=a:1",
        "0=ä:1",
        "0=a b:1",
        "0=a:1|mtu=8k",
        "0=a:1?b",
        "0=a=1",
        ",".join(f"{number}=a:1" for number in range(65)),
    ],
)
def test_refuses_other_texts(text: str) -> None:
    with pytest.raises(ConfigurationError, match="ingress endpoints are malformed"):
        parse_ingress_endpoints(text)
