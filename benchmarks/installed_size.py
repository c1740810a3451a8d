"""Size of the default install: site-packages of a fresh environment, with the largest packages.

python benchmarks/installed_size.py [--extras serve]
"""

import argparse
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from common import folder_mb, report, row

ROOT = Path(__file__).resolve().parent.parent
LIMIT_MB = 400


def install(folder: Path, extras: str) -> Path:
    """Install the package into a fresh environment below `folder`; its site-packages."""
    venv.create(folder, with_pip=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-compile"]
    done = subprocess.run([*pip, f"{ROOT}[{extras}]" if extras else str(ROOT)], check=False)
    if done.returncode:
        sys.exit("pip could not install the package")
    return next((folder / "lib").glob("python3*/site-packages"))


def main() -> None:
    """Install, measure, report; fail above the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extras", default="", help="comma-separated extras to install too")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, default=None)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        packages = install(Path(temporary), args.extras)
        tools = ("pip", "setuptools", "_distutils_hack", "pkg_resources")
        sizes = {p.name: folder_mb(p) for p in packages.iterdir() if p.is_dir() and not p.name.startswith(tools)}
    total = sum(sizes.values())
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:8]
    report("installed size", args, [row(name, size_mb=size) for name, size in [("total", total), *largest]])
    if not args.extras and total > LIMIT_MB:
        sys.exit(f"the default install has {total:.0f} MB, more than {LIMIT_MB}")


if __name__ == "__main__":
    main()
