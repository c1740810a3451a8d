"""Official checkpoints: recognise the family, read its sizes, load its weights. Nothing in them is ever executed."""

from cosylite.lab.checkpoints.load import Checkpoint, load_checkpoint

__all__ = ["Checkpoint", "load_checkpoint"]
