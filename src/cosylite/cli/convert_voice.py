"""`cosylite convert-voice`: a recording in another voice."""

import argparse
from pathlib import Path

from cosylite.audio.files import write_file
from cosylite.audio.formats import FORMATS, format_of
from cosylite.cli.engine_options import add_device_arguments, stage_devices
from cosylite.options import SynthesisOptions

_DESCRIPTION = """\
Speak what somebody says in a recording in another voice. For bundles of CosyVoice.

  cosylite convert-voice talk.wav --voice Anna --bundle cosyvoice2 -o talk-anna.wav
"""


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "convert-voice",
        help="give a recording another voice",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("recording", type=Path, metavar="RECORDING", help="WAV, FLAC, OGG or MP3, up to 10 minutes")
    parser.add_argument("-o", "--output", default="speech.wav", metavar="FILE", help="default: speech.wav")
    parser.add_argument("--format", choices=tuple(FORMATS), help="audio format, whatever the extension is")
    parser.add_argument("--voice", metavar="NAME", help="see `cosylite voices` (default: the first)")
    parser.add_argument("--speed", type=float, default=1.0, help="speaking rate, 0.25 to 4 (default: 1)")
    parser.add_argument("--seed", type=int, default=0, help="equal seeds give equal audio (default: 0)")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    add_device_arguments(parser.add_argument_group("model"))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Convert; raises what `TTS.convert_voice` raises."""
    from cosylite.tts import TTS

    options = SynthesisOptions(args.voice, speed=args.speed, seed=args.seed)
    if args.format is None:
        format_of(args.output)  # before anything is computed
    devices = stage_devices(args.stage_device)
    tts = TTS(args.bundle, device=args.device, devices=devices, threads=args.threads)
    speech = tts.family_engine.convert(args.recording, options)
    write_file(args.output, speech.samples, speech.sample_rate, args.format)
    if not args.quiet:
        print(f"{args.output}: {speech.duration:.2f} s of audio")
    return 0
