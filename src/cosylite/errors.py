"""The one error tree. Every error says what to do, and carries a `code` and the parameter at fault.

The command line maps the classes to exit codes, the service maps them to HTTP statuses; nothing else interprets them.
"""

from typing import ClassVar


class CosyliteError(Exception):
    """Base of every error that cosylite raises on purpose.

    Attributes:
        code: stable machine-readable name, such as ``"unknown_voice"``.
        param: name of the option or field at fault, or None.
        exit_code: what the command line returns for this kind.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, code: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.param = param


class InputError(CosyliteError):
    """The text or an option is not usable."""

    exit_code = 2


class BundleError(CosyliteError):
    """A bundle or checkpoint is missing, damaged or of the wrong kind."""

    exit_code = 3


class DeviceError(CosyliteError):
    """A device, provider or optional dependency is asked for and not available."""

    exit_code = 4


class OutputError(CosyliteError):
    """Reading or writing a file or stream failed."""

    exit_code = 5


class CancelledError(CosyliteError):
    """The caller cancelled the work."""

    exit_code = 130
