"""The text pieces that a checkpoint was trained with."""

from cosylite.lab.checkpoints.load import QWEN_CONFIG, TOY_FILE, Checkpoint, recognise
from cosylite.text.family.tokenizers import read_qwen_vocabulary, whisper_vocabulary


def vocabulary(checkpoint: Checkpoint) -> list[bytes] | None:
    """The pieces in the order of their ids; None for a toy that comes without them.

    A toy of v1 has fewer rows of text than Whisper has pieces, and gets the first of them.

    Raises:
        BundleError: a release of v2 or v3 lacks its vocabulary, or it is damaged.
    """
    family, settings = recognise(checkpoint.directory)
    if family == "v1":
        return whisper_vocabulary()[: checkpoint.model.lm.text_embedding.num_embeddings]
    folder = (checkpoint.directory / QWEN_CONFIG).parent
    if settings.name == TOY_FILE and not (folder / "vocab.json").is_file():
        return None
    return read_qwen_vocabulary(folder)
