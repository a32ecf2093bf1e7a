"""Scripts: the examples pass on our driver and on the official one, wrong ones fail at their line, and what is no script is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.conformance.command_line import make_peer, parse
from aerowire.conformance.main import main
from aerowire.conformance.model import Result, Verdict
from aerowire.conformance.peers.base import Peer, PeerError, started
from aerowire.conformance.peers.drivers import AerowirePeer, JavaPeer, short_timers
from aerowire.conformance.runner import Runner
from aerowire.conformance.scripts.language import ScriptError, parse_script
from aerowire.conformance.scripts.player import load
from tests.interop.harness import AERON_ALL, find_jar

ATTEMPTS = 4
EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "conformance").glob("*.aeron"))


def play(driver: Peer, path: Path, text: str | None = None) -> tuple[Verdict, str, str]:
    """Play a script, or a text as one; return its verdict, what was expected and what came."""
    if text is not None:
        path.write_text(text)
    result = played(driver, path)
    return result.verdict, result.expected, result.actual


def played(driver: Peer, path: Path) -> Result:
    """Return the first result that is conclusive: on a loaded machine some are not."""
    results = (Runner(driver, seed=5, attempts=1).run([load(path)])[0] for _ in range(ATTEMPTS))
    found = next(results)
    while found.verdict is Verdict.INCONCLUSIVE and (again := next(results, None)) is not None:
        found = again
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_pass_on_our_driver(driver: Peer, path: Path) -> None:
    assert play(driver, path) == (Verdict.PASS, "", "")


@pytest.mark.interop
def test_examples_pass_on_the_official_driver() -> None:
    find_jar(AERON_ALL)  # fetched where Maven is
    try:
        peer = JavaPeer(short_timers())
    except PeerError as error:
        pytest.skip(str(error))
    with started(peer) as official:
        results = Runner(official, seed=5).run([load(path) for path in EXAMPLES])
    assert [result.verdict for result in results] == [Verdict.PASS] * len(EXAMPLES), [result.to_dict() for result in results]


BEGUN = "subscribe\n> SETUP\n+500ms = image\n+50ms < SM flags=0\n"
CONNECTED = "publish\n+300ms < SETUP\n> SM position=0\n+500ms = connected\n"


@pytest.mark.parametrize(
    ("text", "line", "expected", "actual"),
    [
        ("subscribe\n> DATA\n+50ms < SM flags=EOS\n", 3, "SM flags=64 within 50 ms", "it did not come"),
        ("subscribe\n> DATA\n+50ms < SM datagram=44\n", 3, "a datagram of 44 bytes", "36 bytes"),
        ("subscribe\n> DATA\n+50ms ! SM\n", 3, "no SM", "SM["),
        ("subscribe\n> DATA\n+50ms ! ANY\n", 3, "no ANY", "SM["),
        ("subscribe\n+100ms = image\n", 2, "an available image within 100 ms", "no image"),
        (BEGUN + "+100ms = no-image\n", 5, "no image within 100 ms", "one"),
        (BEGUN + "> DATA payload=a\n+100ms = delivered b\n", 6, "1 payloads delivered in order", "the first 0 of them"),
        (
            BEGUN + "> DATA position=64 payload=a\n+50ms < NAK length=32\n",
            6,
            "NAK length=32 within 50 ms",
            "it did not come; instead: NAK[",
        ),
        (BEGUN + "> RAW 00\n+100ms = counter INVALID_PACKETS +2\n", 6, "INVALID_PACKETS", "it is at"),
        (CONNECTED + "@ offer hello\n+100ms < DATA payload=other\n", 6, "DATA payload=b'other' within 100 ms", "DATA["),
        (CONNECTED + "@ close\n+50ms < HEARTBEAT flags=BEGIN\n", 6, "HEARTBEAT flags=128", "it did not come"),
        (CONNECTED + "+50ms = image\n", 5, "a script with `subscribe` for `image`", "one with `publish`"),
        (BEGUN + "@ close\n", 5, "a script with `publish` for `close`", "one with `subscribe`"),
    ],
)
def test_line_that_is_not_kept_is_told(driver: Peer, tmp_path: Path, text: str, line: int, expected: str, actual: str) -> None:
    verdict, wanted, got = play(driver, tmp_path / "wrong.aeron", text)
    assert verdict is Verdict.FAIL
    assert wanted.startswith(f"wrong.aeron:{line}: ")
    assert expected in wanted
    assert actual in got


def test_stimuli_wait_their_time_and_frames_are_what_the_script_says(driver: Peer, tmp_path: Path) -> None:
    text = (
        BEGUN
        + '+120ms > DATA position=0 reserved_value=7 payload="a b" | DATA position=64 payload=x*40\n+500ms = delivered "a b" '
        + "x" * 40
    )
    path = tmp_path / "right.aeron"
    path.write_text(text)
    result = played(driver, path)
    assert result.verdict is Verdict.PASS, result.to_dict()
    status = next(one for one in result.exchanges if not one.is_sent)
    data = [one for one in result.exchanges if one.is_sent][-1]
    assert data.time_ns - status.time_ns >= 120_000_000
    assert len(data.payload) == 64 + 96
    assert data.payload[24:32] == (7).to_bytes(8, "little")


def test_publication_without_status_messages_is_not_connected_any_more(driver: Peer, tmp_path: Path) -> None:
    assert play(driver, tmp_path / "left.aeron", CONNECTED + "+1500ms = not-connected\n")[0] is Verdict.PASS


def test_unsubscribing_ends_the_image(driver: Peer, tmp_path: Path) -> None:
    assert play(driver, tmp_path / "left.aeron", BEGUN + "@ unsubscribe\n+500ms < SM flags=EOS\n")[0] is Verdict.PASS


def test_script_brings_its_own_options(driver: Peer, tmp_path: Path) -> None:
    text = "option rcv_status_message_timeout_ns=50ms\n" + BEGUN + "+65ms < SM\n+65ms < SM\n+65ms < SM\n"
    assert play(driver, tmp_path / "quick.aeron", text)[0] is Verdict.PASS


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", "1:1", "expected a line `subscribe` or `publish`"),
        ("subscribe\n", "1:1", "expected at least one step"),
        ("subscribe\npublish\n", "2:1", "one stream in a script"),
        ("subscribe\nsend DATA\n", "2:1", "expected a step"),
        ("subscribe\n< SM\n", "2:1", "a time before <"),
        ("subscribe\n+5 < SM\n", "2:1", "expected a step"),
        ("subscribe\n> DOTA\n", "2:3", "DATA, PAD, HEARTBEAT, SETUP, SM, NAK, ERR, RTTM, RSP_SETUP, RAW or ANY; got `DOTA`"),
        ("subscribe\n> DATA window=1\n", "2:8", "FIELD=VALUE with a field of DATA"),
        ("subscribe\n> SM receiver_window=wide\n", "2:6", "receiver_window=NUMBER"),
        ("subscribe\n  > SM flags=BEGIN\n", "2:14", "flags of SM joined by +: SEND_SETUP, EOS"),
        ("subscribe\n> RAW xyz\n", "2:3", "RAW and bytes in hex"),
        ('subscribe\n> DATA payload="open\n', "2:3", "words, with texts in quotes"),
        ("subscribe\n+5ms = happy\n", "2:8", "one of image, no-image"),
        ("subscribe\n+5ms = image now\n", "2:8", "nothing behind image"),
        ("subscribe\n+5ms = counter GOOD +1\n", "2:8", "the name of a system counter"),
        ("subscribe\n@ dance\n", "2:3", "one of offer, close, unsubscribe"),
        ("subscribe\n> ANY\n", "2:3", "a frame that can be sent"),
        ("subscribe\n+5ms < RAW 00\n", "2:8", "a frame that can be told by its kind"),
        ("subscribe\n> DATA datagram=70000\n", "2:8", "datagram from 0 to 65507"),
        ("subscribe\n> DATA flags=300\n", "2:8", "flags from 0 to 255"),
        ("subscribe\n> DATA reserved_value=0x10000000000000000\n", "2:8", "reserved_value from"),
        ("option speed=1\nsubscribe\n", "1:8", "a name of the driver's options"),
    ],
)
def test_what_is_no_script_is_refused_with_its_place(text: str, place: str, words: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse_script(text, Path("my.aeron"))
    assert str(caught.value).startswith(f"my.aeron:{place}: ")
    assert words in str(caught.value)


def test_numbers_may_begin_with_zeros_and_texts_hold_bars() -> None:
    text = "subscribe\tsession-id=7\n> DATA position=064 flags=0x00 payload='a|b' | DATA payload=\"it's|\"\n"
    script = parse_script(text, Path("my.aeron"))
    assert script.params == "session-id=7"
    first, second = script.steps[0].frames
    assert first.fields == {"position": 64, "flags": 0, "payload": b"a|b"}
    assert second.fields == {"payload": b"it's|"}


@pytest.mark.parametrize(
    ("line", "words"),
    [("DATA session_id=0x1ffffffff", "values that fit their fields"), ("DATA payload=x*65500", "a datagram of at most 65507 bytes")],
)
def test_frame_that_cannot_be_sent_is_refused_before_the_run(line: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "big.aeron"
    path.write_text(f"subscribe\n> {line}\n")
    with pytest.raises(ScriptError, match=f"big.aeron:2:1: expected {words}"):
        load(path)


def test_command_plays_scripts_alone_or_beside_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scripts = [argument for path in EXAMPLES[:2] for argument in ("--script", str(path))]
    assert main(["run", *scripts]) == 0
    assert "2 cases in" in capsys.readouterr().out
    assert main(["run", *scripts, "--case", "A07", "--jobs", "2", "--report", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "3 cases in" in out
    assert "  X-elicit  pass" in out
    assert '"X":"Scripts"' in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("content", [b"\xff\xfe", b"subscribe\n> NOTHING\n"])
def test_command_says_what_is_wrong_with_a_script(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.aeron"
    path.write_bytes(content)
    assert main(["run", "--script", str(path)]) == 2
    assert f"conformance: {path}:" in capsys.readouterr().err


def test_two_scripts_of_one_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twin = tmp_path / EXAMPLES[0].name
    twin.write_text(EXAMPLES[0].read_text())
    assert main(["run", "--script", str(EXAMPLES[0]), "--script", str(twin)]) == 2
    assert "two files make a case called X-" in capsys.readouterr().err


def test_script_needs_no_driver_of_the_suites_own(driver: Peer) -> None:
    options = parse(["run", "--driver", "running", "--dir", str(driver.directory), "--script", str(EXAMPLES[0])])
    assert isinstance(driver, AerowirePeer)
    assert play(make_peer(options), EXAMPLES[0])[0] is Verdict.PASS
