"""The harness is compiled once: under each run's own name, cached, and rebuilt if the cache is damaged."""

import os
import re
from pathlib import Path

import msgspec
import pytest

from sandbox.conftest import Run, assert_verdicts, request
from viva.errors import VivaError
from viva.sandbox import prepared
from viva.sandbox.languagetables import Preparation, languages

pytestmark = pytest.mark.sandbox
ENTRIES = "v" + 24 * "1", "v" + 24 * "2"


def preparation(language: str) -> Preparation:
    return languages()[language].shared.prepared


def made(what: str | Preparation, folder: Path, monkeypatch: pytest.MonkeyPatch) -> prepared.Prepared:
    """What is prepared with this cache, as a process does that begins."""
    monkeypatch.setenv("VIVA_CACHE", str(folder))
    prepared._prepared.cache_clear()
    try:
        return prepared.prepared(preparation(what) if isinstance(what, str) else what)
    finally:
        prepared._prepared.cache_clear()


def test_what_is_prepared_has_the_name_of_its_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = made("cpp", tmp_path, monkeypatch)
    one, other = (found.files(entry) for entry in ENTRIES)
    assert [*one, *other] == [f"{entry}_proof.o" for entry in ENTRIES]
    (object_file,) = one.values()
    assert [name.encode() in object_file for name in (*ENTRIES, prepared._PLACEHOLDER)] == [True, False, False]
    assert not found.archives


def test_what_was_kept_is_taken_again_but_not_when_it_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made("cpp", tmp_path, monkeypatch)
    (kept,) = tmp_path.iterdir()
    whole = kept.read_bytes()
    before = kept.stat().st_mtime_ns
    assert (made("cpp", tmp_path, monkeypatch), kept.stat().st_mtime_ns) == (found, before)
    for damaged in (whole[:-1], whole[:20], b"", whole[:200] + b"\0" + whole[201:], whole.replace(b"proof", b"other")):
        kept.write_bytes(damaged)
        assert made("cpp", tmp_path, monkeypatch).named == found.named
        assert kept.read_bytes()[64:] == whole[64:]
    kept.unlink()
    kept.symlink_to(tmp_path / "elsewhere")
    assert made("cpp", tmp_path, monkeypatch).named == found.named
    assert not (tmp_path / "elsewhere").exists()


def test_what_cannot_be_kept_is_compiled_all_the_same_and_what_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert made("cpp", tmp_path / "file", monkeypatch).named
    for command in (("/usr/bin/g++", "-c", "missing.cpp"), ("/usr/bin/node", "/missing.cpp")):
        with pytest.raises(VivaError, match=rf"(?s)^{re.escape(command[0])} does not compile Viva's.*missing\.cpp"):
            made(msgspec.structs.replace(preparation("cpp"), compile=command), tmp_path, monkeypatch)


def test_a_link_to_another_compiler_is_another_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linked = msgspec.structs.replace(preparation("cpp"), compile=(str(tmp_path / "link"),))
    for version in ("17", "21"):
        compiler = tmp_path / version
        compiler.write_text(f"#!/bin/sh\necho -n {version} > {prepared._PLACEHOLDER}.o")
        compiler.chmod(0o700)
        os.utime(compiler, (1, 1))  # as in images made to be the same again
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(compiler)
        assert list(made(linked, tmp_path, monkeypatch).named.values()) == [version.encode()]


@pytest.mark.slow
def test_the_archive_of_the_compiler_is_read_by_every_run_from_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made("java", tmp_path, monkeypatch)
    assert list(found.files(ENTRIES[0])) == [f"{ENTRIES[0]}.class"]
    (archive,) = found.archives.values()
    for _ in range(2):
        assert len(Path(f"/proc/self/fd/{archive}").read_bytes()) > 1 << 20


LOADS = """
declare var require: any;
const { readFileSync } = require('fs');
const text = require('module').wrap(readFileSync(require.resolve('typescript'), 'utf8'));
const { cachedDataRejected } = new (require('vm').Script)(text, { cachedData: readFileSync('/viva/typescript.cache') });
"""


@pytest.mark.slow
def test_typescripts_compiler_is_taken_as_v8_made_it_and_no_program_writes_or_chooses_that(run: Run) -> None:
    changes = "require('fs').writeFileSync('/viva/typescript.cache', '')"
    nothing = "throw Error('no test of mine')\nmodule.exports = { transpileModule: () => ({ outputText: '' }) }"
    plants = (
        ("typescript.cache", "no cache"),
        ("typescript.js", nothing),
        ("package.json", '{"main": "typescript.js"}'),
    )
    planted = request("ts", "const one: number = 1;", "if (one !== 1) throw 1", files=plants)
    assert_verdicts(
        run,
        (request("ts", LOADS, "if (cachedDataRejected !== false) throw cachedDataRejected"), "passed", "separate", ""),
        (request("ts", f"declare var require: any;\n{changes}", "throw 1"), "failed", "", "EROFS"),
        (planted, "passed", "separate", ""),
    )
