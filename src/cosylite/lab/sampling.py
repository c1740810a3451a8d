"""Chance from torch, to replay what the official code draws."""

import numpy as np
import torch
from numpy.typing import NDArray

from cosylite.runtime.family.sampling import Draw


def torch_draw(generator: torch.Generator) -> Draw:
    """Draw as the official sampler does from a generator of the same seed."""

    def draw(probabilities: NDArray[np.float32]) -> int:
        return int(torch.multinomial(torch.from_numpy(probabilities), 1, generator=generator))

    return draw
