"""`cosylite serve`: the service in this process."""

import argparse
import os

from cosylite.errors import DeviceError
from cosylite.serve.settings_sources import add_flags, load_settings


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "serve",
        help="serve speech over HTTP, WebSocket and Wyoming",
        description="Serve speech. Every flag is also a variable COSYLITE_<FLAG> (lists: separated by spaces) and a "
        "line of the --config file; flags win over variables, variables over the file.",
    )
    add_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until a signal."""
    flags = {name: value for name, value in vars(args).items() if name != "run" and value is not None}
    settings = load_settings(flags, os.environ)
    try:
        from cosylite.serve.server import serve
    except ImportError as error:
        raise DeviceError(
            f"the service needs {error.name}: install it with `pip install 'cosylite[serve]'`", code="missing_extra"
        ) from error
    return serve(settings)
