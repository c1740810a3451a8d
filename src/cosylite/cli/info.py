"""`cosylite info`: versions, devices and folders, for bug reports."""

import argparse
import importlib.metadata
import json
import platform
from typing import Any

from cosylite import __version__

_PACKAGES = ("numpy", "onnxruntime", "soundfile", "soxr", "rjieba", "haqumei")


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "info", help="print versions, devices and folders", description="Print what a bug report should have."
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the facts."""
    facts = collect()
    if args.json:
        print(json.dumps(facts, ensure_ascii=False, indent=1))
        return 0
    for key, value in facts.items():
        shown = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        print(f"{key:<10} {', '.join(shown) if isinstance(shown, list) else shown}")
    return 0


def collect() -> dict[str, Any]:
    """What `info` prints."""
    import onnxruntime

    from cosylite.audio.formats import FORMATS
    from cosylite.runtime.bundle import bundle_folders, cache_folder
    from cosylite.runtime.sessions import PROVIDERS, default_threads

    offered = onnxruntime.get_available_providers()
    return {
        "cosylite": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "threads": default_threads(),
        "devices": [name for name, (provider, _) in PROVIDERS.items() if provider in offered],
        "packages": {name: version for name in _PACKAGES if (version := _version(name))},
        "formats": list(FORMATS),
        "bundles": [str(folder) for folder in bundle_folders()],
        "cache": str(cache_folder()),
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
