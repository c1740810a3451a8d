"""`cosylite voice`: voices made from recordings."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cosylite.cli.engine_options import add_bundle_argument
from cosylite.errors import BundleError

if TYPE_CHECKING:
    from cosylite.runtime.family.catalogue import Catalogue

_DESCRIPTION = """\
Voices from recordings, for bundles of CosyVoice. Ask the speaker for consent.

  cosylite voice add Anna anna.wav --text 'What she says in it.' --bundle cosyvoice2
  cosylite say 'Anything else.' --voice Anna --bundle cosyvoice2
  cosylite voice list --bundle cosyvoice2
  cosylite voice remove Anna --bundle cosyvoice2

A voice works with all bundles of the same generation. The recording has 1 to 30 s of one speaker, of any sample rate;
with its text speech gets nearest to it, without it the voice speaks in mode cross-lingual.
"""


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "voice",
        help="add, list and remove voices made from recordings",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    adding = actions.add_parser("add", help="make a voice from a recording", description="Make a voice, and keep it.")
    adding.add_argument("name", metavar="NAME", help="how the voice will be called")
    adding.add_argument("recording", type=Path, metavar="RECORDING", help="WAV, FLAC, OGG or MP3, 1 to 30 s")
    adding.add_argument("--text", default="", help="what is said in the recording")
    adding.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    adding.set_defaults(run=_add)
    listing = actions.add_parser("list", help="list the voices that were added", description="List added voices.")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(run=_list)
    removing = actions.add_parser("remove", help="forget a voice that was added", description="Forget a voice.")
    removing.add_argument("name", metavar="NAME", help="see `cosylite voice list`")
    removing.set_defaults(run=_remove)
    for action in (adding, listing, removing):
        add_bundle_argument(action)


def _add(args: argparse.Namespace) -> int:
    """Make a voice; raises what `TTS.add_voice` raises."""
    catalogue = _catalogue(args, reads=True)
    catalogue.add(args.name, args.recording, args.text)
    if not args.quiet:
        voice = catalogue.added.load(args.name)
        known = "with its text" if voice.transcribed else "without text, so for mode cross-lingual"
        print(f"{catalogue.added.path(args.name)}: {len(voice.tokens)} speech tokens, {known}")
    return 0


def _list(args: argparse.Namespace) -> int:
    store, voices = _catalogue(args).added, []
    for name in store:
        try:
            voices.append(store.load(name))
        except BundleError as error:  # the others are of use all the same
            print(f"cosylite: left out {name}: {error}", file=sys.stderr)
    if args.json:
        listed = [
            {"name": voice.name, "text": voice.transcript, "file": str(store.path(voice.name))} for voice in voices
        ]
        print(json.dumps({"voices": listed}, ensure_ascii=False, indent=1))
        return 0
    for voice in voices:
        print(f"{voice.name}  {voice.transcript}".rstrip())
    if not voices:
        print("no voice was added")
    return 0


def _remove(args: argparse.Namespace) -> int:
    _catalogue(args).remove(args.name)
    return 0


def _catalogue(args: argparse.Namespace, *, reads: bool = False) -> "Catalogue":
    """The voices of the bundle, without its models."""
    from cosylite.runtime.bundle import family_of, find_bundle
    from cosylite.runtime.family.catalogue import Catalogue, load_catalogue
    from cosylite.runtime.family.kinds import FAMILIES
    from cosylite.runtime.family.manifest import read_manifest

    path = find_bundle(args.bundle)
    if family_of(path) not in FAMILIES:
        raise BundleError(
            f"bundle {args.bundle} has the voices it has; name a bundle of CosyVoice with --bundle",
            code="unsupported_family",
            param="bundle",
        )
    return load_catalogue(path) if reads else Catalogue(path, read_manifest(path))
