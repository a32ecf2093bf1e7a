"""Several schemas in one run: packages of their own, or within one package, where they share what they need at run time."""

from __future__ import annotations

from importlib import import_module, invalidate_caches
from pathlib import Path

import pytest

from aerowire.codegen.main import main
from aerowire.codegen.sbe.native.build import c_compiler, compile_module
from aerowire.codegen.sbe.native.package import native_files
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.codegen.sbe.targets.flyweights import support_name
from tests.codegen.sbe.packages import SCHEMAS
from tests.codegen.sbe.writing import schema
from tests.support import compiler

BOTH = [str(SCHEMAS / "garage.xml"), str(SCHEMAS / "shop.xml")]


def generate(*arguments: str) -> int:
    return main(["generate", *arguments])


def test_schemas_within_one_package_share_what_they_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert generate(*BOTH, "--out", str(tmp_path), "--package", "grouped.codecs", "--target", "flyweights,dtypes,arrow") == 0
    assert generate(str(SCHEMAS / "shop.xml"), "--out", str(tmp_path), "--package", "grouped_alone", "--target", "flyweights") == 0
    names = {str(path.relative_to(tmp_path / "grouped/codecs")) for path in tmp_path.glob("grouped/codecs/**/*.py")}
    assert {"support/errors.py", "_columns.py", "_arrow.py", "shop/header.py", "garage/dtypes.py"} <= names
    assert not {
        name for name in names if name.startswith(("shop/support", "garage/support", "shop/_", "garage/_")) and "__init__" not in name
    }
    monkeypatch.syspath_prepend(str(tmp_path))
    invalidate_caches()
    garage, shop, alone = import_module("grouped.codecs.garage"), import_module("grouped.codecs.shop"), import_module("grouped_alone")
    for package in (garage, shop):
        for name in package.__all__:
            getattr(package, name)
    assert garage.SbeError is shop.SbeError is not alone.SbeError
    with pytest.raises(shop.SbeError):
        garage.Car.decode(b"")
    columns = [
        import_module(f"grouped.codecs.{name}.{module}").ColumnsError for name in ("garage", "shop") for module in ("dtypes", "arrow")
    ]
    assert len(set(columns)) == 1


def test_compiled_codecs_share_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / "one.xml", tmp_path / "two.xml"]
    for file in files:
        text = schema("", '<message name="Ping" id="1"><field name="number" id="1" type="int32"/></message>')
        file.write_text(text.replace('package="own"', f'package="acme.{file.stem}"'))
    place = Placement("compiled.one", is_grouped=True)
    sources = native_files(load_message_schema(files[0]), support_name(place))
    arguments = [*map(str, files), "--out", str(tmp_path), "--package", "compiled", "--target", "flyweights"]
    assert generate(*arguments) == 0
    source = tmp_path / "compiled/one/native.pyx"
    source.write_text(sources["native.pyx"])
    monkeypatch.setenv("CFLAGS", "-O0")
    monkeypatch.setenv("CC", compiler.command(*c_compiler()))
    compile_module(source, "compiled.one.native")
    monkeypatch.syspath_prepend(str(tmp_path))
    invalidate_caches()
    one, two = import_module("compiled.one.native"), import_module("compiled.two")
    assert one.SbeError is two.SbeError
    assert two.Ping.decode(one.Ping(number=7).encode()).number == 7
    with pytest.raises(two.SbeError):
        one.Ping.decode(b"")


def test_schemas_without_a_package_around_them_are_complete_each(tmp_path: Path) -> None:
    assert generate(*BOTH, "--out", str(tmp_path), "--target", "flyweights") == 0
    assert {path.parent.parent.name for path in tmp_path.rglob("support/errors.py")} == {"garage", "shop"}


def test_a_name_that_is_taken_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.xml"
    for package, said in (("acme.shop", "also that of"), ("Support", "package 'p.Support' is also that of what the schemas share")):
        other.write_text((SCHEMAS / "shop.xml").read_text().replace('package="shop"', f'package="{package}"'))
        assert generate(BOTH[1], str(other), "--out", str(tmp_path), "--package", "p") == 2
        assert said in capsys.readouterr().err
