"""`cosylite bundles`: what is installed."""

import argparse
import json
from pathlib import Path
from typing import Any

from cosylite.errors import BundleError


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "bundles", help="list the bundles that are installed", description="List bundles and check their files."
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the bundles. A damaged one is listed with what is wrong."""
    from cosylite.runtime.bundle import bundle_folders

    bundles = [_describe(folder) for folder in bundle_folders()]
    if args.json:
        print(json.dumps({"bundles": bundles}, ensure_ascii=False, indent=1))
    elif not bundles:
        print("no bundles are installed")
    else:
        for bundle in bundles:
            print(bundle["name"])
            for key, value in bundle.items():
                if key != "name" and value not in (None, {}, []):
                    print(f"    {key:<10} {' '.join(value) if isinstance(value, list) else value}")
    return 0


def _describe(folder: Path) -> dict[str, Any]:
    from cosylite.runtime.bundle import family_of, load_bundle
    from cosylite.runtime.family.kinds import FAMILIES
    from cosylite.runtime.family.manifest import FamilyManifest, read_manifest

    try:
        manifest = read_manifest(folder) if family_of(folder) in FAMILIES else load_bundle(folder).manifest
    except BundleError as error:
        return {"name": folder.name, "path": str(folder), "problem": str(error)}
    if isinstance(manifest, FamilyManifest):
        languages, voices = [], list(manifest.voices)
    else:
        languages, voices = list(manifest.languages), [voice.name for voice in manifest.voices.list]
    return {
        "name": folder.name,
        "family": manifest.family,
        "revision": manifest.revision,
        "languages": languages,
        "voices": voices,
        "megabytes": round(sum(file.bytes for file in manifest.files.values()) / 1e6, 2),
        "licence": manifest.licence,
        "path": str(folder),
        "measured": manifest.measured,
        "problem": None,
    }
