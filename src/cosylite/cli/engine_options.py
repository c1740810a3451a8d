"""Options that choose a bundle, devices and a voice, shared by the commands that load or inspect a model."""

import argparse
from typing import TYPE_CHECKING

from cosylite.cli.text_input import read_lexicon
from cosylite.errors import InputError
from cosylite.options import MODES, STREAMINGS, SynthesisOptions

if TYPE_CHECKING:
    from cosylite.tts import TTS


def add_bundle_argument(parser: "argparse._ActionsContainer") -> None:
    """Declare --bundle."""
    parser.add_argument("--bundle", default="nano", metavar="NAME", help="installed bundle or folder (default: nano)")


def add_device_arguments(parser: "argparse._ActionsContainer") -> None:
    """Declare --bundle, --device, --stage-device and --threads."""
    add_bundle_argument(parser)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, ... (default: auto)")
    parser.add_argument(
        "--stage-device",
        action="append",
        default=[],
        metavar="STAGE=DEVICE",
        help="device of one stage, such as flow=cuda; may be repeated",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="processor threads (default: all, at most 4)")


def add_voice_arguments(parser: "argparse._ActionsContainer") -> None:
    """Declare the options of `SynthesisOptions` other than the language."""
    defaults = SynthesisOptions()
    parser.add_argument("--voice", metavar="NAME", help="see `cosylite voices` (default: by language)")
    parser.add_argument("--speed", type=float, default=defaults.speed, help="speaking rate, 0.25 to 4 (default: 1)")
    parser.add_argument("--seed", type=int, default=defaults.seed, help="equal seeds give equal audio (default: 0)")
    parser.add_argument("--volume", type=float, default=defaults.volume, help="factor, 0 to 4 (default: 1)")
    parser.add_argument(
        "--sentence-silence",
        type=float,
        default=defaults.sentence_silence,
        metavar="SECONDS",
        help=f"between sentences (default: {defaults.sentence_silence:g})",
    )
    parser.add_argument("--no-trim", dest="trim", action="store_false", help="keep silence at sentence edges")
    parser.add_argument(
        "--noise-scale", type=float, default=defaults.noise_scale, help="variation, 0 (flat) to 2 (default: 1)"
    )
    parser.add_argument("--low-pass", type=float, metavar="HZ", help="soften what is above, 1000 to 11900")
    parser.add_argument("--high-pass", type=float, metavar="HZ", help="soften what is below, 10 to 1000")


def add_family_arguments(parser: "argparse._ActionsContainer") -> None:
    """Declare the options of `SynthesisOptions` that only bundles of CosyVoice take."""
    parser.add_argument("--mode", default="auto", metavar="MODE", help=f"{', '.join(MODES)} (default: by voice)")
    parser.add_argument("--instruct", default="", metavar="TEXT", help="how to speak, in words: mood, dialect, pace")
    parser.add_argument(
        "--streaming", default="auto", metavar="KIND", help=f"{', '.join(STREAMINGS)} (default: exact where possible)"
    )
    parser.add_argument("--flow-steps", type=int, metavar="N", help="evaluations of the flow (default: 10)")


def synthesis_options(args: argparse.Namespace) -> SynthesisOptions:
    """The options that were given.

    Raises:
        InputError: a value is out of its range.
    """
    return SynthesisOptions(
        voice=args.voice,
        lang=args.lang,
        speed=args.speed,
        seed=args.seed,
        volume=args.volume,
        sentence_silence=args.sentence_silence,
        trim=args.trim,
        noise_scale=args.noise_scale,
        low_pass=args.low_pass,
        high_pass=args.high_pass,
        skip_unknown=args.skip_unknown,
        mode=args.mode,
        instruct=args.instruct,
        streaming=args.streaming,
        flow_steps=args.flow_steps,
    )


def load_tts(args: argparse.Namespace) -> "TTS":
    """Load the bundle that was asked for; raises what `TTS` raises."""
    from cosylite.tts import TTS

    return TTS(
        args.bundle,
        device=args.device,
        devices=stage_devices(args.stage_device),
        threads=args.threads,
        lexicon=read_lexicon(args),
        default_han=args.default_han,
    )


def stage_devices(pairs: list[str]) -> dict[str, str]:
    """Devices by stage, of the values of --stage-device; raises InputError where one is written wrongly."""
    devices = {}
    for pair in pairs:
        stage, equals, device = pair.partition("=")
        if not (stage and equals and device):
            raise InputError(
                f"--stage-device takes STAGE=DEVICE, such as flow=cuda, not {pair!r}", code="usage", param="devices"
            )
        devices[stage] = device
    return devices
