"""Runs bundles with NumPy and ONNX Runtime. Never imports torch."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from cosylite.runtime.family.model import FamilyModel


def load(bundle: "str | os.PathLike[str]", *, device: str = "cpu", threads: int | None = None) -> "FamilyModel":
    """Load a bundle of an official family, to use its stages one by one.

    `.lm.decode(...)` gives speech tokens, `.flow(...)` a mel, `.vocoder(...)` a waveform.

    Raises:
        BundleError: there is no such bundle, it is damaged, or it is of another kind.
        DeviceError: the device is not available.
    """
    from cosylite.runtime.bundle import find_bundle
    from cosylite.runtime.family.model import load_family

    return load_family(find_bundle(bundle), device=device, threads=threads)
