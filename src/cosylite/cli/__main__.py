"""`python -m cosylite.cli` is `cosylite`."""

import sys

from cosylite.cli import main

if __name__ == "__main__":
    sys.exit(main())
