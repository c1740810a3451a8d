"""`cosylite voices`: the voices of a bundle."""

import argparse
import json
from dataclasses import asdict

from cosylite.cli.engine_options import add_bundle_argument


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser("voices", help="list the voices of a bundle", description="List the voices.")
    add_bundle_argument(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the voices; raises BundleError where the bundle cannot be used."""
    from cosylite.runtime.bundle import family_of, find_bundle, load_bundle
    from cosylite.runtime.family.kinds import FAMILIES

    if family_of(find_bundle(args.bundle)) in FAMILIES:
        return _list_presets(args)
    voices = load_bundle(args.bundle).manifest.voices
    defaults = {
        voice.name: [use for use, name in voices.default.items() if name == voice.name] for voice in voices.list
    }
    if args.json:
        listed = [
            {key: value for key, value in asdict(voice).items() if key != "row"} | {"default_for": defaults[voice.name]}
            for voice in voices.list
        ]
        print(json.dumps({"voices": listed}, ensure_ascii=False, indent=1))
        return 0
    width = max(len(voice.name) for voice in voices.list)
    for voice in voices.list:
        languages = " ".join(voice.languages)
        default = f"  default for {', '.join(defaults[voice.name])}" if defaults[voice.name] else ""
        print(f"{voice.name:<{width}}  {voice.gender:<6}  native {voice.native}  reads {languages}{default}")
    return 0


def _list_presets(args: argparse.Namespace) -> int:
    """Print the voices of a CosyVoice bundle, of which only the names are known."""
    from cosylite.runtime.bundle import find_bundle
    from cosylite.runtime.family.catalogue import Catalogue
    from cosylite.runtime.family.manifest import read_manifest

    path = find_bundle(args.bundle)
    catalogue = Catalogue(path, read_manifest(path))
    if args.json:
        listed = [{"name": name, "kind": catalogue.kind(name)} for name in catalogue.names]
        print(json.dumps({"voices": listed}, ensure_ascii=False, indent=1))
        return 0
    names = "\n".join(catalogue.names)
    print(names or "this bundle has no voice yet; add one with `cosylite voice add`")
    return 0
