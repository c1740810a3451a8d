"""Language models against golden data: rows, logits, decoding, sampling, text in pieces."""

from pathlib import Path

import numpy as np
import pytest
import torch

from cosylite.lab.models.attention import KeyValueCache
from cosylite.lab.models.lm import QwenLM, TransformerLM
from cosylite.lab.models.stages import TorchTokenModel, control_ids
from cosylite.lab.sampling import torch_draw
from cosylite.runtime.family.decode import Limits, Prompt, decode, decode_pieces, forbid_end, limit_silence, prompt_rows
from cosylite.runtime.family.kinds import SILENT_TOKENS
from cosylite.runtime.family.sampling import greedy, repetition_aware

from .golden import Case, case_files, case_name, checkpoint, close

TOLERANCE = 1e-4
MODES = case_files("lm_zero_shot", "lm_sft", "lm_instruct", "lm_cross_lingual", "lm_instruct2")


class Recorder(TorchTokenModel):
    """A token model that keeps what it was fed with and what it answered."""

    fed: list[np.ndarray]
    answers: list[np.ndarray]

    def feed(self, rows: np.ndarray, state: KeyValueCache) -> np.ndarray:
        answer = super().feed(rows, state)
        self.fed.append(rows)
        self.answers.append(answer)
        return answer


def recorder(family: str) -> Recorder:
    model = checkpoint(family).model
    found = Recorder(model.lm, control_ids(model.config.family, model.config.lm.speech_tokens))
    object.__setattr__(found, "fed", [])
    object.__setattr__(found, "answers", [])
    return found


def prompt_of(case: Case) -> Prompt:
    return Prompt(
        case.ids("in.text"), case.ids("in.prompt_text"), case.ids("in.prompt_speech_token"), case["in.embedding"]
    )


def limits_of(case: Case) -> Limits:
    return Limits(float(case["in.min_token_text_ratio"]), float(case["in.max_token_text_ratio"]))


@pytest.mark.parametrize("path", MODES, ids=case_name)
def test_prefill(path: Path) -> None:
    case = Case(path)
    model, lm = recorder(case.family), checkpoint(case.family).model.lm
    rows = prompt_rows(model, prompt_of(case))
    close(f"{case.family} lm rows", rows[None], case["out.prefill_input"], TOLERANCE)
    hidden = lm.extend(torch.from_numpy(rows)[None], lm.create_cache(1, len(rows)))
    close(f"{case.family} lm hidden", hidden.detach(), case["out.prefill_hidden"], TOLERANCE)
    if "out.text_encoder" in case:
        assert isinstance(lm, TransformerLM)
        ids = torch.tensor([case.ids("in.prompt_text") + case.ids("in.text")])
        close("v1 text encoder", lm.text_rows(ids), case["out.text_encoder_affine"], TOLERANCE)
    if "out.spk_proj" in case:
        speaker = lm.speaker_rows(torch.from_numpy(case["in.embedding"]))
        close("v1 speaker row", speaker[None], case["out.spk_proj"].reshape(1, 1, -1), TOLERANCE)


@pytest.mark.parametrize("path", MODES, ids=case_name)
def test_greedy_decoding(path: Path) -> None:
    case = Case(path)
    model = recorder(case.family)
    tokens = list(decode(model, prompt_of(case), greedy, limits_of(case)))
    assert tokens == case.ids("out.greedy_tokens")
    close(f"{case.family} lm step log-probabilities", np.stack(model.answers), case["out.step_logp"], TOLERANCE)
    least, _ = limits_of(case).bounds(len(prompt_of(case).text))
    assert [i < least for i in range(len(model.answers))] == case["out.step_ignore_eos"].tolist()


@pytest.mark.parametrize("path", case_files("lm_ratio"), ids=case_name)
def test_limits_of_length(path: Path) -> None:
    case = Case(path)
    tokens = list(decode(recorder(case.family), prompt_of(case), greedy, limits_of(case)))
    assert tokens == case.ids("out.greedy_tokens")


@pytest.mark.parametrize("path", MODES, ids=case_name)
def test_whole_sequence_equals_steps(path: Path) -> None:
    case = Case(path)
    lm = checkpoint(case.family).model.lm
    rows = torch.from_numpy(case["out.tf_input"])
    whole = lm.logits(lm.extend(rows, lm.create_cache(1, rows.shape[1])))
    close(f"{case.family} lm logits", whole.detach(), case["out.tf_logits"], TOLERANCE)
    speech = lm.speech_rows(torch.from_numpy(case["in.tf_targets"]).long())
    close(f"{case.family} lm rows", speech, case["out.tf_input"][:, -speech.shape[1] :], TOLERANCE)


@pytest.mark.parametrize("path", MODES, ids=case_name)
def test_sampling_replays_torch(path: Path) -> None:
    case = Case(path)
    settings = checkpoint(case.family).config.lm.sampling
    runs = [name.removesuffix("_tokens") for name in case if name.startswith("out.ras") and name.endswith("_tokens")]
    for run in runs:
        generator = torch.Generator().manual_seed(int(case[run.replace("out.", "in.") + "_torch_seed"]))
        sampler = repetition_aware(settings, torch_draw(generator))
        tokens = list(decode(recorder(case.family), prompt_of(case), sampler, limits_of(case)))
        assert tokens == case.ids(run + "_tokens")


@pytest.mark.parametrize("path", case_files("lm_bistream_*"), ids=case_name)
def test_text_in_pieces(path: Path) -> None:
    case = Case(path)
    model, lm = recorder(case.family), checkpoint(case.family).model.lm
    assert isinstance(lm, QwenLM)
    pieces = [case.ids(f"in.text_chunk{i}") for i in range(int(case["in.n_chunks"]))]
    prompt = Prompt((), case.ids("in.prompt_text"), case.ids("in.prompt_speech_token"))
    tokens = list(decode_pieces(model, pieces, prompt, greedy, mix=lm.config.mix))
    assert tokens == case.ids("out.tokens")
    assert [len(rows) for rows in model.fed] == case.ids("out.fed_lengths")
    close(f"{case.family} lm rows in pieces", np.concatenate(model.fed)[None], case["out.fed_inputs"], TOLERANCE)


@pytest.mark.parametrize("path", case_files("silent_filter"), ids=case_name)
def test_silence_is_limited(path: Path) -> None:
    case = Case(path)
    silent = frozenset(case.ids("in.silent_tokens"))
    for name in [name for name in case if name.startswith("in.seq")]:
        assert silent == SILENT_TOKENS["v3"]
        assert list(limit_silence(case.ids(name), silent)) == case.ids(name.replace("in.", "out."))


@pytest.mark.parametrize("family", ["v1", "v2", "v3"])
def test_rows_of_a_batch_do_not_disturb_each_other(family: str) -> None:
    """Two sequences of different length share steps; each gets what it gets alone."""
    lm = checkpoint(family).model.lm
    rows = [lm.speech_rows(torch.arange(3, 3 + n)[None]) for n in (9, 4)]
    alone = [lm.extend(r, lm.create_cache(1, 16)) for r in rows]
    cache = lm.create_cache(2, 16)
    shared: list[list[torch.Tensor]] = [[], []]
    for step in range(4):
        out = lm.extend(torch.cat([r[:, step : step + 1] for r in rows]), cache)
        for row in range(2):
            shared[row].append(out[row])
    tail = KeyValueCache([type(c)(c.keys[:1], c.values[:1]) for c in cache.layers], cache.lengths[:1])
    shared[0].append(lm.extend(rows[0][:, 4:], tail)[0])
    for row in range(2):
        close(f"{family} lm batch", torch.cat(shared[row]).detach(), alone[row][0].detach(), TOLERANCE)


def test_end_is_forbidden_by_its_id() -> None:
    controls = control_ids("v2", 5)
    assert forbid_end(np.zeros(8, np.float32), controls).argmin() == 5
