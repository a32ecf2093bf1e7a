"""The report's page in a real browser: the matrix, what a rule's row opens, the drawing of its datagrams."""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.conformance.catalogue import select
from aerowire.conformance.harness.capture import read_datagrams
from aerowire.conformance.harness.trace import Exchange
from aerowire.conformance.model import Result, Verdict
from aerowire.conformance.peers.base import Peer
from aerowire.conformance.report import ReportError, write_report
from aerowire.conformance.runner import Runner

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
    "--window-size=1300,1400",
)
HOSTILE = "</script><script>document.title = 'broken'</script><b id='planted'>"


@pytest.fixture(scope="module")
def report(driver: Peer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two drivers: one that passes, and one that fails a case and has no conclusion on another."""
    directory = tmp_path_factory.mktemp("report")
    results = Runner(driver, seed=1).run(select("A07,B01,E01"))
    write_report(directory, results, {"driver": "ours", "release": None, "seed": 1})
    failed = Result(results[0].case, Verdict.FAIL, "an image", HOSTILE, notes=["a note"], exchanges=results[0].exchanges, exchanges_left=7)
    # A flood: the same datagram again and again, one of the harness: what the driver says first is a matter of time.
    sent = next(exchange for exchange in results[0].exchanges if exchange.is_sent)
    unsure = Result(results[1].case, Verdict.INCONCLUSIVE, "x", "y", exchanges=[sent] * 9)
    write_report(directory, [failed, unsure], {"driver": "theirs/1", "release": "1.51.0", "seed": 2})
    return directory


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser, which takes long to start."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for argument in (*ARGUMENTS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(argument)
    chromium = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    yield chromium
    chromium.quit()


def test_report_leaves_results_of_each_driver_and_captures_of_what_failed(report: Path) -> None:
    names = sorted(str(path.relative_to(report)) for path in report.rglob("*") if path.is_file())
    assert names == [
        "captures-theirs-1/A07.pcap",
        "captures-theirs-1/B01.pcap",
        "junit-ours.xml",
        "junit-theirs-1.xml",
        "report.html",
        "results-ours.json",
        "results-theirs-1.json",
    ]
    document = json.loads((report / "results-theirs-1.json").read_text())
    rows = document["results"][0]["exchanges"]
    datagrams = list(read_datagrams(report / "captures-theirs-1" / "A07.pcap"))
    assert len(datagrams) == len(rows) > 2
    assert [f"{datagram.source[0]}:{datagram.source[1]}" for datagram in datagrams] == [row["from"] for row in rows]
    assert rows[0]["ms"] == 0
    assert any(row["text"].startswith("SETUP[") and row["is_sent"] for row in rows)


def test_exchanges_of_a_case_are_what_it_sent_and_got_in_the_order_of_time(driver: Peer) -> None:
    found: list[Exchange] = Runner(driver, seed=1).run(select("E01"))[0].exchanges
    assert [one.time_ns for one in found] == sorted(one.time_ns for one in found)
    assert {one.is_sent for one in found} == {True, False}


def test_page_needs_nothing_from_elsewhere(report: Path) -> None:
    text = (report / "report.html").read_text()
    assert re.findall(r"""(?:src|href)=|@import|url\((?!#)""", text) == []


@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="Chromium is not installed (apt-get install chromium chromium-driver)")
class TestInBrowser:
    """What a person sees and does."""

    @pytest.fixture
    def browser(self, chromium: Any, report: Path) -> Iterator[Any]:
        """The browser with the page, of which it must not complain."""
        chromium.get((report / "report.html").as_uri())
        yield chromium
        assert chromium.get_log("browser") == []

    def test_matrix_has_a_row_for_each_case_and_a_column_for_each_driver(self, browser: Any) -> None:
        heads = [each.text for each in browser.find_elements("css selector", "table:first-of-type th")]
        assert heads[:4] == ["case", "requirement", "ours", "theirs/1 1.51.0"]
        rows = {row.get_attribute("id"): row.text for row in browser.find_elements("css selector", "tr.case")}
        assert sorted(rows) == ["case-A07", "case-B01", "case-E01"]
        assert rows["case-A07"].endswith("✓ pass ✗ fail")
        assert rows["case-B01"].endswith("✓ pass ? inconclusive")
        assert rows["case-E01"].endswith("✓ pass not run")
        cards = [card.text for card in browser.find_elements("class name", "card")]
        assert "3 pass" in cards[0]
        assert "1 fail, 1 inconclusive" in cards[1]

    def test_row_opens_to_the_datagrams_drawn_and_closes(self, browser: Any, report: Path) -> None:
        row = browser.find_element("id", "case-A07")
        row.click()
        drawings = browser.find_elements("tag name", "svg")
        assert len(drawings) == 2
        expected = json.loads((report / "results-ours.json").read_text())["results"][0]["exchanges"]
        arrows = drawings[0].find_elements("css selector", ".arrow")
        assert len(arrows) == len(expected)
        assert {arrow.get_attribute("class") for arrow in arrows} == {"arrow sent", "arrow got"}
        labels = [label.text for label in drawings[0].find_elements("css selector", ".label")]
        assert [label.split("[")[0] for label in labels] == [each["text"].split("[")[0] for each in expected]
        assert "and 7 datagrams more" in drawings[1].text
        # Drawn within the window, not beside it.
        assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
        row.click()
        assert not browser.find_elements("tag name", "svg")

    def test_flood_is_drawn_as_one_arrow(self, browser: Any) -> None:
        browser.find_element("id", "case-B01").click()
        drawing = browser.find_elements("tag name", "svg")[-1]
        assert [label.text[:12] for label in drawing.find_elements("css selector", ".label")] == ["9 \u00d7 DATA[fra"]

    def test_what_a_driver_says_is_text(self, browser: Any) -> None:
        browser.find_element("id", "case-A07").click()
        assert HOSTILE in [each.text for each in browser.find_elements("tag name", "dd")]
        assert browser.title == "Conformance of Aeron drivers"
        assert not browser.find_elements("id", "planted")

    def test_search_and_verdicts_choose_the_rows(self, browser: Any) -> None:
        def shown() -> list[str]:
            return [row.get_attribute("id") for row in browser.find_elements("css selector", "tr.case")]

        browser.find_element("id", "search").send_keys("NAK gap")
        assert shown() == ["case-E01"]
        browser.find_element("id", "search").clear()
        browser.find_element("id", "search").send_keys(" ")
        browser.find_element("css selector", "input[value=pass]").click()
        assert shown() == ["case-A07", "case-B01"]
        browser.find_element("css selector", "input[value=fail]").click()
        assert shown() == ["case-B01"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"driver": "old", "summary": {}, "results": [{"id": "A01"}]}'])
def test_results_that_cannot_be_shown_are_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "results-old.json").write_text(content)
    with pytest.raises(ReportError, match=r"results-old\.json: not the results of this release's runs; remove it"):
        write_report(tmp_path, [Result(select("A07")[0], Verdict.PASS)], {"driver": "new"})


def test_any_character_of_a_driver_makes_good_xml(tmp_path: Path) -> None:
    failed = Result(select("A07")[0], Verdict.FAIL, "a text", "\0\x1b[31m\ud800", notes=["\x07"])
    write_report(tmp_path, [failed], {"driver": "../odd"})
    node = ET.parse(tmp_path / "junit-..-odd.xml").getroot().find("testcase/failure")
    assert node is not None
    assert node.get("message", "").endswith("got \ufffd\ufffd[31m\ufffd")
