import pytest

from .golden import differences


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the largest difference of every part that was compared with golden data."""
    if differences and terminalreporter.verbosity > 0:
        terminalreporter.section("largest differences from golden data")
        for part in sorted(differences):
            terminalreporter.write_line(f"{part:<40} {differences[part]:.2e}")
