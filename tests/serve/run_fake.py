"""A real server process with the fake engine: `python -m tests.serve.run_fake STEP_SECONDS FLAGS...`."""

import argparse
import os
import sys

from cosylite.serve.server import serve
from cosylite.serve.settings_sources import add_flags, load_settings

from .fake import FakeEngine


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("step_seconds", type=float)
    add_flags(parser)
    flags = vars(parser.parse_args())
    engine = FakeEngine(step_seconds=flags.pop("step_seconds"))
    given = {name: value for name, value in flags.items() if value is not None}
    settings = load_settings({"bundle": ["fake"], "port": 0, **given}, os.environ)
    return serve(settings, lambda source, settings: engine)


if __name__ == "__main__":
    sys.exit(main())
