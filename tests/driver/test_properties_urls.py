"""Properties by URL: what official drivers take beside files, and what is told when there is none."""

from __future__ import annotations

import argparse
import http.server
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.base import properties
from aerowire.base.errors import ConfigurationError
from aerowire.base.properties import read_properties
from aerowire.tools.arguments import properties_of
from tests.support.processes import free_port

TEXT = "# a comment\naeron.mtu.length = 4k\naeron.dir=/dev/shm/a\\u0041\n"
PROPERTIES = {"aeron.mtu.length": "4k", "aeron.dir": "/dev/shm/aA"}


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/driver.properties")
            self.end_headers()
        elif self.path == "/driver.properties":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(TEXT.encode("latin-1"))
        else:
            self.send_error(404)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), _Answers) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()
        thread.join()


@pytest.fixture
def mute() -> Iterator[socket.socket]:
    """Accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


@pytest.mark.parametrize("path", ["driver.properties", "moved"])
def test_a_url_is_read_as_a_file_is(server: str, path: str) -> None:
    assert read_properties(f"{server}/{path}") == PROPERTIES


def test_a_file_has_a_url_too(tmp_path: Path) -> None:
    path = tmp_path / "driver.properties"
    path.write_text(TEXT)
    assert read_properties(path) == read_properties(str(path)) == read_properties(path.as_uri()) == PROPERTIES


def refusal(url: str) -> str:
    with pytest.raises(ConfigurationError, match="properties cannot be loaded") as caught:
        read_properties(url)
    assert caught.value.where == url
    return str(caught.value)


def test_what_does_not_answer_is_named_with_the_cause(server: str, tmp_path: Path) -> None:
    assert "404 Not Found" in refusal(f"{server}/other")
    assert "Connection refused" in refusal(f"http://127.0.0.1:{free_port()}/driver.properties")
    assert re.search("expected a readable file; got .*No such file", refusal((tmp_path / "none").as_uri()))
    assert "nonnumeric port" in refusal("http://127.0.0.1:x/driver.properties")


def test_a_server_that_says_nothing_is_not_waited_for(mute: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    assert properties._TIMEOUT_S == 10.0
    monkeypatch.setattr(properties, "_TIMEOUT_S", 0.02)
    assert "timed out" in refusal(f"http://127.0.0.1:{mute.getsockname()[1]}/driver.properties")


def test_more_than_anybody_s_properties_are_not_taken(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(properties, "_LENGTH_MAX", len(TEXT) - 1)
    assert f"more than {len(TEXT) - 1} bytes" in refusal(f"{server}/driver.properties")


def test_a_command_line_takes_a_url(server: str) -> None:
    given = argparse.Namespace(definitions=["aeron.mtu.length=8k"], dir=None)
    assert properties_of(given, [f"{server}/driver.properties"]) == {**PROPERTIES, "aeron.mtu.length": "8k"}
