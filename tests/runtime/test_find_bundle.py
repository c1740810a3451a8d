"""Names and folders of bundles."""

from pathlib import Path

import pytest

from cosylite.runtime.bundle import find_bundle


def test_a_folder_that_is_no_bundle_does_not_hide_an_installed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nano").mkdir()
    assert find_bundle("nano").is_absolute() and (find_bundle("nano") / "bundle.json").is_file()
    (tmp_path / "nano" / "bundle.json").write_text("{}", "utf-8")
    assert find_bundle("nano") == Path("nano")
    (tmp_path / "other").mkdir()
    assert find_bundle("other") == Path("other")
