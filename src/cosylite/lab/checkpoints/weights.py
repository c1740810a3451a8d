"""Weights of one network: read without executing anything, matched key by key."""

import pickle
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from cosylite.errors import BundleError
from cosylite.lab.checkpoints.keys import UNUSED, official_names

_PICKLE_START = b"\x80"
_DAMAGE = (
    AttributeError,
    EOFError,
    IndexError,
    KeyError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
)
"""What torch raises on bytes that make no sense."""
_G_NAMES = (".parametrizations.weight.original0", ".weight_g")
_V_NAMES = (".parametrizations.weight.original1", ".weight_v")


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a flat state dict saved by torch; raises `BundleError` for anything else."""
    found = read_torch(path)
    if not isinstance(found, dict) or not all(isinstance(k, str) and isinstance(v, Tensor) for k, v in found.items()):
        raise BundleError(
            f"{path} is not a flat table of tensors; give the file of the official release",
            code="bad_checkpoint",
            param=path.name,
        )
    return found


def read_torch(path: Path) -> object:
    """Read a torch file, tensors and plain containers only; raises `BundleError` if it holds or needs more."""
    if not path.is_file():
        raise BundleError(f"{path} is missing; download the complete model", code="missing_file", param=path.name)
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            raise _unsafe(path) if file.read(1) == _PICKLE_START else _damaged(path)
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except pickle.UnpicklingError as error:
        raise _unsafe(path) from error
    except _DAMAGE as error:
        raise _damaged(path) from error


def _unsafe(path: Path) -> BundleError:
    return BundleError(
        f"{path} holds more than tensors (code or foreign objects), which is never loaded; "
        "get the file from the official release",
        code="unsafe_checkpoint",
        param=path.name,
    )


def _damaged(path: Path) -> BundleError:
    return BundleError(f"{path} is damaged or incomplete; download it again", code="damaged_file", param=path.name)


def fold_weight_norm(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Replace every pair of weight-norm factors by the plain weight, in double precision.

    What has only one factor, or factors that do not fit each other, stays as it is.
    """
    folded: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        base, kind = _factor(name)
        other = next((tensors[base + n] for n in (_V_NAMES if kind == "g" else _G_NAMES) if base + n in tensors), None)
        if kind is None or other is None:
            folded[name] = tensor
        elif kind == "v":
            expected = (tensor.shape[0], *(1,) * (tensor.dim() - 1))
            if tuple(other.shape) == expected:
                direction = tensor.double()
                norm = torch.linalg.vector_norm(direction, dim=tuple(range(1, tensor.dim())), keepdim=True)
                folded[f"{base}.weight"] = direction * (other.double() / norm)
            else:
                folded |= {name: tensor, name.replace(*_pair_of(name)): other}
    return folded


def _factor(name: str) -> tuple[str, str | None]:
    for kind, endings in (("g", _G_NAMES), ("v", _V_NAMES)):
        for ending in endings:
            if name.endswith(ending):
                return name.removesuffix(ending), kind
    return name, None


def _pair_of(name: str) -> tuple[str, str]:
    return next((v, g) for g, v in zip(_G_NAMES, _V_NAMES, strict=True) if name.endswith(v))


def match(model: nn.Module, tensors: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """Bring official tensors under our names.

    Returns:
        The state dict for `model`, and what is wrong: one line per missing, extra or misshapen key.
    """
    names, own = official_names(model), model.state_dict()
    folded = fold_weight_norm(tensors)
    state: dict[str, Tensor] = {}
    problems: list[str] = []
    for official, ours in names.items():
        if official not in folded:
            problems.append(f"missing {official}")
        elif folded[official].shape != own[ours].shape:
            given, wanted = tuple(folded[official].shape), tuple(own[ours].shape)
            problems.append(f"misshapen {official} {given}, expected {wanted}")
        else:
            state[ours] = folded[official]
    problems += [f"extra {name}" for name in folded if name not in names and name not in UNUSED]
    return state, problems


def fill(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Give `model` the weights read from `path`; raises `BundleError` naming every key that does not fit."""
    state, problems = match(model, tensors)
    if problems:
        raise BundleError(
            f"{path} does not fit this model: {_listed(problems)}", code="mismatched_checkpoint", param=path.name
        )
    own = model.state_dict()
    model.load_state_dict({name: tensor.to(own[name].dtype) for name, tensor in state.items()}, assign=True)
    model.requires_grad_(False)


def _listed(problems: list[str]) -> str:
    kinds: dict[str, list[str]] = {}
    for problem in problems:
        kinds.setdefault(problem.split(" ", 1)[0], []).append(problem.split(" ", 1)[1])
    return "; ".join(f"{len(names)} {kind}: {', '.join(names)}" for kind, names in kinds.items())
