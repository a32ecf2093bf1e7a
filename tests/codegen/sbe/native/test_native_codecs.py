"""Compiled codecs have the interface of the Python ones, and read, write and refuse what those do, to the letter."""

from __future__ import annotations

import ast
import copy
import dataclasses
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from aerowire.codegen.main import main
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.native import build
from aerowire.codegen.sbe.reader import load_message_schema
from tests.codegen.sbe.packages import SCHEMAS, Both, import_native
from tests.codegen.sbe.plain_messages import Writer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("native")


@pytest.fixture(scope="module")
def both(folder: Path) -> Both:
    """Codecs of big-endian messages, as bytes are then turned round on most machines."""
    return import_native((SCHEMAS / "trading.xml").read_text().replace("littleEndian", "bigEndian"), folder)


@pytest.fixture(scope="module")
def schema(both: Both, folder: Path) -> MessageSchema:
    assert both
    return load_message_schema(folder / "schema.xml")


def outcome(call: Callable[[], object]) -> str:
    """What came out, or what was wrong."""
    try:
        return repr(call())
    except ValueError as error:
        return f"{type(error).__name__}: {error}"
    except Exception as error:
        return type(error).__name__  # Python's own words name classes, which differ


def messages(schema: MessageSchema, seed: int, count: int, versions: tuple[int, ...] = (2,)) -> list[bytes]:
    random = Random(seed)
    writer = Writer(schema, random)
    return [writer.message(schema.messages[0], random.choice(versions))[0] for _ in range(count)]


@pytest.mark.parametrize("versions", [(2,), (0, 1, 3)])
def test_data_classes_read_alike(both: Both, schema: MessageSchema, versions: tuple[int, ...]) -> None:
    python, native = both
    for raw in messages(schema, 31, 120, versions):
        ours, theirs = native.Order.decode(raw), python.Order.decode(raw)
        assert type(ours) is native.Order
        assert repr(ours) == repr(theirs)
        assert repr(ours.to_dict()) == repr(theirs.to_dict())
        assert outcome(ours.encode) == outcome(theirs.encode)
        assert repr(native.decode(raw)) == repr(theirs)


def test_any_buffer_and_offset(both: Both, schema: MessageSchema) -> None:
    _, native = both
    (raw,) = messages(schema, 32, 1)
    expected = repr(native.Order.decode(raw))
    for buffer, offset in ((bytearray(raw), 0), (memoryview(b"xyz" + raw + b"more"), 3), (b"x" + raw, True)):
        assert repr(native.Order.decode(buffer, offset)) == expected
    written = bytearray(len(raw) + 99)
    length = native.Order.decode(raw).encode_into(written, 7)
    assert bytes(written[7 : 7 + length]) == native.Order.decode(raw).encode()


def test_flyweights_read_and_write_alike(both: Both, schema: MessageSchema) -> None:
    python, native = both
    for raw in messages(schema, 33, 20, (1, 2)):
        ours, theirs = (module.OrderDecoder().wrap_and_apply_header(raw) for module in both)
        assert repr(ours) == repr(theirs)
        assert [repr(entry) for entry in ours.owners] == [repr(entry) for entry in theirs.owners]
        assert "memory at" not in repr(ours)
        assert repr(native.decoder_of(raw)) == repr(theirs)
    assert native.OrderDecoder.sbe_meta("cents") == python.OrderDecoder.sbe_meta("cents")
    assert native.OrderDecoder.CENTS_NULL_VALUE == -1
    buffers = [bytearray(64), bytearray(64)]
    for module, buffer in zip(both, buffers, strict=True):
        encoder = module.TickEncoder().wrap_and_apply_header(buffer)
        encoder.instrument, encoder.bid, encoder.weight = 7, -8, 0.5
    assert buffers[0] == buffers[1]


def test_damage_is_told_alike(both: Both, schema: MessageSchema) -> None:
    random = Random(34)
    told = set()
    for raw in messages(schema, 34, 300, (1, 2)):
        damaged = bytearray(raw)
        for _ in range(random.choice((1, 2))):
            damaged[random.randrange(len(damaged))] = random.choice((0, 255, random.randrange(256)))
        part = bytes(damaged[: random.randrange(len(damaged) + 1)]) if random.random() < 0.5 else bytes(damaged)
        theirs, ours = (outcome(partial(module.Order.decode, part)) for module in both)
        assert ours == theirs
        told.add(ours[:8])
    assert {"SbeError", "Order(or"} <= told


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("order_id", -1),
        ("order_id", 1 << 64),
        ("order_id", 1.5),
        ("order_id", None),
        ("cents", 1 << 63),
        ("cents", None),
        ("symbol", "longer than six"),
        ("symbol", "ÄÖ"),
        ("symbol", 5),
        ("triple", (1, 2)),
        ("triple", [1, 2, 1 << 31]),
        ("triple", [1, 2, 3]),
        ("ratio", "x"),
        ("ratio", 3),
        ("share", 1e300),
        ("share", float("inf")),
        ("flag", "ab"),
        ("flag", "€"),
        ("price", None),
        ("price", 5),
        ("side", 66),
        ("side", "BUY"),
        ("options", 1 << 16),
        ("level", 40000),
        ("legs", None),
        ("legs", ()),
        ("legs", [None]),
        ("comment", "\udc80"),
        ("comment", "x" * 70000),
        ("comment", b"bytes"),
        ("comment", "Zürich €"),
        ("greeting", "Zürich"),
        ("greeting", "€"),
        ("greeting", "x" * 255),
    ],
)
def test_values_are_written_or_refused_alike(both: Both, schema: MessageSchema, name: str, value: object) -> None:
    (raw,) = messages(schema, 35, 1)
    outcomes = []
    for module in both:
        order = module.Order.decode(raw)
        setattr(order, name, value)
        outcomes.append(outcome(order.encode))
    assert outcomes[1] == outcomes[0]


def test_long_messages_outgrow_the_first_room(both: Both, schema: MessageSchema) -> None:
    (raw,) = messages(schema, 36, 1)
    encoded = []
    for module in both:
        order = module.Order.decode(raw)
        order.legs = [module.OrderLegs(quantity=index, note=index) for index in range(200)]
        order.comment = "y" * 60000
        encoded.append(order.encode())
        assert module.Order.decode(encoded[-1]) == order
    assert encoded[0] == encoded[1]


def test_data_classes_behave_as_such(both: Both, schema: MessageSchema) -> None:
    python, native = both
    leg = native.OrderLegs(quantity=5, note=None)
    assert repr(leg) == repr(python.OrderLegs(quantity=5, note=None))
    assert leg == native.OrderLegs(quantity=5)
    assert leg != native.OrderLegs(quantity=6)
    assert leg != python.OrderLegs(quantity=5)
    assert dataclasses.is_dataclass(type(leg))
    assert [one.name for one in dataclasses.fields(leg)] == [one.name for one in dataclasses.fields(python.OrderLegs)]
    assert dataclasses.replace(leg, quantity=9).quantity == 9
    assert native.OrderLegs.from_dict(leg.to_dict()) == leg
    with pytest.raises(native.SbeError, match="there are no such members"):
        native.OrderLegs.from_dict({"nothing": 1})
    with pytest.raises(TypeError, match="quantity"):
        native.OrderLegs()
    with pytest.raises(TypeError, match="unhashable"):
        hash(leg)
    tick = native.Tick(instrument=1, kind=2, level=3, change=4, bid=5, time=6, ratio=7.0, weight=8.0)
    for copied in (copy.copy(tick), copy.deepcopy(tick), pickle.loads(pickle.dumps(tick)), native.Tick.from_dict(tick.to_dict())):
        assert copied == tick
    assert native.Order.venue == "XOWN"
    assert native.Order.decode(messages(schema, 37, 1)[0]).unit == -9


def test_a_subclass_is_what_it_decodes(both: Both, schema: MessageSchema) -> None:
    _, native = both
    kind: Any = type("MyOrder", (native.Order,), {})
    (raw,) = messages(schema, 38, 1)
    assert type(kind.decode(raw)) is kind
    assert kind.decode(raw).encode() == native.Order.decode(raw).encode()


def test_stub_names_what_the_module_has(both: Both) -> None:
    _, native = both
    tree = ast.parse(Path(str(native.__file__)).with_name("native.pyi").read_text())
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            methods = [one.name for one in node.body if isinstance(one, ast.FunctionDef)]
            members = [one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
            for name in [*methods, *members]:
                assert hasattr(getattr(native, node.name), name), (node.name, name)
        elif isinstance(node, ast.FunctionDef):
            assert callable(getattr(native, node.name))


def test_compiles_what_is_stale_only(both: Both) -> None:
    _, native = both
    assert not build.compile_module(Path(str(native.__file__)).with_name("native.pyx"), native.__name__)


def test_command_wants_flyweights_to_compile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["generate", str(SCHEMAS / "trading.xml"), "--out", str(tmp_path), "--target", "dtypes", "--native"]
    assert main(command) == 2
    assert "--native compiles the flyweights" in capsys.readouterr().err


def test_command_says_why_it_did_not_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "no-such-compiler")
    assert main(["generate", str(SCHEMAS / "trading.xml"), "--out", str(tmp_path), "--native"]) == 1
    assert "codegen: --native needs a C compiler" in capsys.readouterr().err
    assert (tmp_path / "own/trading/native.pyi").exists()


def test_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "native.pyx"
    source.write_text("def f(:\n")
    with pytest.raises(build.NativeBuildError, match="not translated"):
        build.compile_module(source, "native")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(build.NativeBuildError, match="needs a C compiler: expected one of no-such-compiler, "):
        build.compile_module(source, "native")
    monkeypatch.setattr(build, "find_spec", lambda _name: None)
    with pytest.raises(build.NativeBuildError, match="needs Cython, which is not installed"):
        build.compile_module(source, "native")


def test_says_which_compiler_failed_with_what_and_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "native.pyx"
    source.write_text("x = 1\n")
    compiler = tmp_path / "own-compiler"
    compiler.write_text("#!/bin/sh\nfor line in $(seq 50); do echo line $line; done\nexit 3\n")
    compiler.chmod(0o700)
    monkeypatch.setenv("CC", f"env {compiler}")
    with pytest.raises(build.NativeBuildError) as told:
        build.compile_module(source, "native")
    message = str(told.value)
    assert f"the C compiler env {compiler} failed with status 3" in message
    assert "line 50\n" in message
    assert "line 38\n" not in message
    assert "apt install gcc python3-dev" in message
    assert not build.extension_path(source).exists()
    monkeypatch.setenv("CC", "false")
    with pytest.raises(build.NativeBuildError, match=r"compiler false failed with status 1: false .*\n\(it said nothing\)\nneeded are"):
        build.compile_module(source, "native")


REFUSED = [
    ("order_id", -1),
    ("order_id", "x"),
    ("cents", 1 << 63),
    ("symbol", "longer than six"),
    ("symbol", "ÄÖ"),
    ("triple", [1, 2, 1 << 31]),
    ("triple", [1, 2]),
    ("ratio", "x"),
    ("flag", "€"),
    ("side", 256),
    ("options", 1 << 16),
    ("price", 5),
]


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_a_refused_value_changes_nothing(both: Both, schema: MessageSchema, name: str, value: object) -> None:
    (raw,) = messages(schema, 41, 1)
    for module in both:
        buffer = bytearray(raw)
        encoder = module.OrderEncoder().wrap(buffer, 8)
        with pytest.raises((ValueError, TypeError)):
            setattr(encoder, name, value)
        assert buffer == raw


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [("", "number", "x"), ("owner", "initial", "€"), ("owner", "shares", [1, 300]), ("", "preferred", 999), ("limit", "mantissa", 1 << 63)],
)
def test_a_composite_of_which_one_member_is_refused_changes_nothing(
    both: Both, schema: MessageSchema, where: str, name: str, value: object
) -> None:
    (raw,) = messages(schema, 42, 1)
    for module in both:
        buffer = bytearray(raw)
        encoder = module.OrderEncoder().wrap(buffer, 8)
        account = module.Order.decode(raw).account
        account.number = 1 if account.number is None else None
        account.owner.initial, account.owner.shares = "xy"[account.owner.initial == "x"], (1, 2)
        account.limit.mantissa = account.limit.mantissa // 2 + 1
        setattr(getattr(account, where) if where else account, name, value)
        with pytest.raises((ValueError, TypeError)):
            encoder.account = account
        assert buffer == raw
