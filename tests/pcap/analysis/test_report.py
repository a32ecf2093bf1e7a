"""The page about captures in a real browser: what it says of each stream, and that its drawings are seen."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aerowire.pcap.analysis.summary import losses_of
from aerowire.pcap.commands.shared import DONE, FINDING, UNUSABLE
from aerowire.tools.main import main

CAPTURES = Path(__file__).parent.parent.parent / "data" / "captures"
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
# No connection of the browser's own: what it shows has to be in the page.
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1100,1400",
)
needs_browser = pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="chromium is not installed (apt-get install chromium-driver)")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser, which takes long to start."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for argument in (*ARGUMENTS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=Service(executable_path=DRIVER))
    yield browser
    browser.quit()


def page_of(tmp_path: Path, *captures: Path) -> Path:
    page = tmp_path / "page.html"
    assert main(["pcap", "report", *map(str, captures), "--output", str(page)]) == DONE
    return page


@needs_browser
def test_shows_what_happened_to_a_lossy_stream(chromium: Any, tmp_path: Path) -> None:
    path = CAPTURES / "loss_data_sender_side.pcap"
    losses, _ = losses_of(path)
    chromium.get(page_of(tmp_path, path).as_uri())
    assert chromium.get_log("browser") == []
    (section,) = chromium.find_elements("css selector", "section")
    facts = {
        row.find_element("css selector", "dt").text: row.find_element("css selector", "dd").text
        for row in section.find_elements("css selector", "dl > div")
    }
    assert facts["losses"] == f"{len(losses)} of {sum(loss.length for loss in losses):,} bytes, 0 never recovered"
    assert facts["end"] == "end of stream"
    titles = [caption.text for caption in section.find_elements("css selector", "figcaption")]
    assert titles == ["Position", "Throughput", "Window used", "Time until losses were whole"]
    for drawing in section.find_elements("css selector", "svg"):
        assert drawing.size["width"] > 500
        assert drawing.size["height"] > 100
    marks = chromium.find_elements("css selector", "figure:first-of-type rect.lost title")
    texts = [mark.get_attribute("textContent") for mark in marks]
    assert texts == [text for text in texts if "missing" in text]
    assert len(texts) == len(losses)
    colour = chromium.execute_script("return getComputedStyle(document.querySelector('polyline.sent')).stroke")
    assert colour not in ("none", "rgb(0, 0, 0)")


@needs_browser
def test_names_of_files_are_text_and_every_golden_capture_is_drawn(chromium: Any, tmp_path: Path) -> None:
    hostile = tmp_path / "<b id=planted>.pcap"
    hostile.write_bytes((CAPTURES / "unicast_simple.pcap").read_bytes())
    captures = [hostile, *sorted(CAPTURES.glob("*.pcap"))]
    chromium.get(page_of(tmp_path, *captures).as_uri())
    assert chromium.get_log("browser") == []
    assert not chromium.find_elements("css selector", "#planted")
    headings = [heading.text for heading in chromium.find_elements("css selector", "h1")]
    assert headings == list(map(str, captures))
    assert "NaN" not in chromium.page_source


def test_tells_damage_and_what_was_left_out(build: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packets = [build.ethernet(build.ip4(*datagram)) for datagram in build.conversation(random.Random(1), 50)]
    packets.append(build.ethernet(build.ip4(b"question", ("10.0.0.9", 53), ("10.0.0.8", 53))))
    path = tmp_path / "cut.pcap"
    path.write_bytes(build.classic(packets)[:-7] + b"")
    page = tmp_path / "page.html"
    assert main(["pcap", "report", str(path), "--output", str(page), "--json"]) == FINDING
    assert json.loads(capsys.readouterr().out)["truncated_bytes"] > 0
    assert "Damaged: corrupt in 0 places" in page.read_text()
    assert main(["pcap", "report", str(tmp_path / "absent"), "--output", str(page)]) == UNUSABLE
    assert main(["pcap", "report", str(path), "--output", str(tmp_path / "absent" / "page.html")]) == UNUSABLE
    assert "cannot be written" in capsys.readouterr().err


def test_a_capture_that_is_read_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.pcap"
    shutil.copy(CAPTURES / "unicast_simple.pcap", path)
    assert main(["pcap", "report", str(path), "--output", str(path)]) == UNUSABLE
    assert "a.pcap: cannot be written: it is one of the captures that are read" in capsys.readouterr().err
    assert path.read_bytes() == (CAPTURES / "unicast_simple.pcap").read_bytes()


def test_the_page_goes_to_standard_output_for_a_dash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["pcap", "report", str(CAPTURES / "unicast_simple.pcap"), "--output", "-"]) == DONE
    sys.stdout.flush()
    page, said = capfdbinary.readouterr()
    assert page.startswith(b"<!DOCTYPE html>")
    assert b"frames of 1 captures" in said
    assert not list(tmp_path.iterdir())


def test_a_folder_without_captures_is_a_page_without_streams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    page_of(tmp_path, tmp_path / "empty")
    assert "0 frames of 0 captures" in capsys.readouterr().out
