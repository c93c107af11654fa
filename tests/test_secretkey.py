"""The user's secret: who may have it, and that it stays."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from viva.errors import StorageError
from viva.secretkey import config_folder, derived_key


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VIVA_CONFIG", str(tmp_path / "new" / "configuration"))
    return config_folder()


def test_a_key_stays_the_same_and_is_for_one_purpose_and_one_user(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = derived_key(b"one")
    path = folder / "secret.key"
    assert (path.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert derived_key(b"one") == first != derived_key(b"two")
    assert len(first) == 32
    assert first != path.read_bytes()
    assert os.listdir(folder) == ["secret.key"]
    monkeypatch.setenv("VIVA_CONFIG", str(tmp_path / "another"))
    assert derived_key(b"one") != first


def test_many_who_begin_at_once_have_one_secret(folder: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: derived_key(b"one"), range(32)))) == 1
    assert os.listdir(folder) == ["secret.key"]


def test_a_secret_that_others_could_have_is_refused(folder: Path) -> None:
    derived_key(b"one")
    path = folder / "secret.key"
    for mode in (0o640, 0o604, 0o620, 0o666):
        path.chmod(mode)
        with pytest.raises(StorageError, match="chmod 600"):
            derived_key(b"one")
    path.chmod(0o600)
    content = path.read_bytes()
    for wrong in (b"", content[:-1], content + b"x"):
        path.write_bytes(wrong)
        with pytest.raises(StorageError, match=f"has {len(wrong)} bytes in place of 32"):
            derived_key(b"one")
    for make in (lambda: os.mkfifo(path), lambda: path.symlink_to("/dev/zero"), path.mkdir):
        path.unlink()
        make()
        with pytest.raises(StorageError, match=r"secret\.key"):
            derived_key(b"one")


def test_a_folder_that_cannot_be_made_is_named_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VIVA_CONFIG", str(tmp_path / "file" / "viva"))
    with pytest.raises(StorageError, match=r"file/viva/secret\.key: .*VIVA_CONFIG"):
        derived_key(b"one")
