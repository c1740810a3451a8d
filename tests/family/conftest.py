from collections.abc import Iterator

import pytest

from .golden import differences


@pytest.fixture(scope="session", autouse=True)
def no_voices_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the tests apart from voices that somebody added on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the largest difference of every part that was compared with golden data."""
    if differences and terminalreporter.verbosity > 0:
        terminalreporter.section("largest differences from golden data")
        for part in sorted(differences):
            terminalreporter.write_line(f"{part:<40} {differences[part]:.2e}")
