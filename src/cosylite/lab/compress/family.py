"""Compression of the CosyVoice family: what it learns from, and training with rounded weights."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cosylite.errors import InputError
from cosylite.lab.checkpoints import Checkpoint
from cosylite.lab.compress.data import Row
from cosylite.lab.compress.fake import insert, linear_layers, remove
from cosylite.lab.compress.family_flow import Lesson, rounding_losses, with_model
from cosylite.lab.compress.layers import pick
from cosylite.lab.compress.recipe import FakeQuantisation
from cosylite.lab.compress.train import train
from cosylite.lab.models.family import FamilyModel

PARTS = ("lm", "flow")


def lessons_of(checkpoint: Checkpoint, rows: Sequence[Row], encode: Callable[[str], list[int]]) -> list[Lesson]:
    """Lessons of the rows that have speech tokens.

    Args:
        encode: text to ids.

    Raises:
        InputError: no row has speech tokens, or a token or voice is unknown.
    """
    config = checkpoint.config.flow
    vectors = {k: v["embedding"].float().flatten() for k, v in checkpoint.speakers.items() if "embedding" in v}
    found = []
    for row in rows:
        if not row.speech_tokens:
            continue
        if max(row.speech_tokens) >= config.speech_tokens:
            raise InputError(
                f"speech token {max(row.speech_tokens)} is beyond the {config.speech_tokens} of the model",
                code="bad_data",
                param="data",
            )
        if row.voice is not None and row.voice not in vectors:
            raise InputError(
                f"the data name the voice {row.voice!r}; the model has {', '.join(vectors) or 'none'}",
                code="unknown_voice",
                param="data",
            )
        vector = vectors[row.voice] if row.voice else torch.zeros(config.speaker_size)
        found.append(Lesson(torch.tensor(encode(row.text)), torch.tensor(row.speech_tokens), vector))
    if not found:
        raise InputError(
            "training a family model needs rows with speech_tokens: give --data", code="no_training_data", param="data"
        )
    return found


def lm_logits(model: FamilyModel, lesson: Lesson) -> Tensor:
    """Scores (M + 1, vocabulary) of the speech tokens of a lesson and of its end."""
    lm = model.lm
    start, task = lm.control_rows()
    text = lm.text_rows(lesson.text[None])[0] if len(lesson.text) else start[:0]
    speaker = lm.speaker_rows(lesson.speaker[None])
    rows = torch.cat([start, speaker, text, task, lm.speech_rows(lesson.tokens[None])[0]])[None]
    hidden = lm.extend(rows, lm.create_cache(1, rows.shape[1]))
    return lm.logits(hidden[0, -len(lesson.tokens) - 1 :])


def fine_tune(
    checkpoint: Checkpoint, how: FakeQuantisation, lessons: Sequence[Lesson], folder: Path, seed: int
) -> Checkpoint:
    """The checkpoint after training with fake quantisation of language model and flow; its layers are plain again.

    Raises:
        InputError: a layer filter matches nothing, or static activations, which the family's graphs do not have.
    """
    if how.activations == "static":
        raise InputError(
            "recipe: graphs of the family have a scale per row: fake.activations must be dynamic or float",
            code="bad_recipe",
            param="fake",
        )
    student = with_model(checkpoint)
    names = {part: {n: f"{part}.{n}" for n in trainable_layers(getattr(student.model, part))} for part in PARTS}
    chosen = pick([n for part in names.values() for n in part.values()], how.layers)
    for number, part in enumerate(PARTS):
        model: nn.Module = getattr(student.model, part)
        mine = sorted(chosen & set(names[part].values()))
        if not mine:
            continue
        insert(model, mine, how.weights, how.activations, {}, names[part])
        model.requires_grad_(True)
        losses = _lm_losses if part == "lm" else rounding_losses
        trained = train(
            f"qat {part}",
            model,
            losses(checkpoint.model, student.model, lessons),
            how.training,
            folder / f"qat-{part}.pt",
            seed=seed + number,
        )
        remove(trained)
        trained.requires_grad_(False)
        student = with_model(student, **{part: trained})
    return student


def trainable_layers(model: nn.Module) -> Iterator[str]:
    """Linear layers that are called as such; the positions of relative attention are read, not called."""
    return (name for name in linear_layers(model) if not name.endswith(".position"))


def _lm_losses(
    teacher: FamilyModel, student: FamilyModel, lessons: Sequence[Lesson]
) -> Callable[[int], Mapping[str, Tensor]]:
    def losses(step: int) -> Mapping[str, Tensor]:
        lesson = lessons[step % len(lessons)]
        with torch.no_grad():
            wanted = lm_logits(teacher, lesson).log_softmax(-1)
        said = lm_logits(student, lesson).log_softmax(-1)
        return {"divergence": F.kl_div(said, wanted, reduction="batchmean", log_target=True)}

    return losses
