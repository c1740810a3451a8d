"""Writes a bundle folder: files first, then the manifest with their checksums; replaced as a whole."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any


def describe_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Size and SHA-256 of every file below `folder`, by relative name, without the manifest."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "bundle.json")
    return {p.relative_to(folder).as_posix(): {"sha256": _sha256(p), "bytes": p.stat().st_size} for p in files}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def revision_of(files: dict[str, dict[str, Any]]) -> str:
    """Twelve hex digits that change with any graph or voice of the bundle."""
    digests = "".join(spec["sha256"] for name, spec in sorted(files.items()) if not name.endswith(".md"))
    return hashlib.sha256(digests.encode()).hexdigest()[:12]


def write_manifest(folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Complete `facts` with files and revision and write `bundle.json`; returns what it holds."""
    files = describe_files(folder)
    whole = {"format": 1, **facts, "revision": revision_of(files), "files": files}
    write_json(folder, whole)
    return whole


def write_json(folder: Path, whole: dict[str, Any]) -> None:
    """Write `bundle.json`."""
    (folder / "bundle.json").write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n", "utf-8")


def replace_folder(new: Path, target: Path) -> None:
    """Move `new` to `target`, removing what was there."""
    if target.exists():
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(str(new), target)
