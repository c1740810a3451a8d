"""The golden cases once more, through exported bundles on ONNX Runtime."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cosylite.errors import BundleError
from cosylite.lab.export.family import export_family
from cosylite.lab.export.graph import Precision
from cosylite.lab.models.noise import flow_noise
from cosylite.runtime import load
from cosylite.runtime.family.batching import DecodeLoop, Request
from cosylite.runtime.family.decode import Prompt, decode, decode_pieces, limit_silence, prompt_rows
from cosylite.runtime.family.exact import ExactVocoder
from cosylite.runtime.family.flow import resize_frames
from cosylite.runtime.family.kinds import SILENT_TOKENS
from cosylite.runtime.family.model import WHOLE, FamilyModel, Flow, load_family
from cosylite.runtime.family.sampling import Sampler, greedy
from cosylite.runtime.family.streaming import FadingVocoder, GrowingVocoder, official_joiner

from .golden import FAMILIES, ROOT, Array, Case, case_files, case_name, checkpoint, close
from .test_chain import chunks_of
from .test_lm import limits_of, prompt_of
from .test_vocoder import noise_of

Bundles = Callable[[str], FamilyModel]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bundles")


@pytest.fixture(scope="module")
def bundles(folder: Path) -> Bundles:
    """The bundle of a family, exported when first asked for."""
    loaded: dict[str, FamilyModel] = {}

    def load(family: str) -> FamilyModel:
        if family not in loaded:
            export_family(checkpoint(family), folder / family, name=f"toy-{family}")
            loaded[family] = load_family(folder / family, threads=1)
        return loaded[family]

    return load


MODES = case_files("lm_zero_shot", "lm_sft", "lm_instruct", "lm_cross_lingual", "lm_instruct2")


@pytest.mark.parametrize("path", MODES, ids=case_name)
def test_decoding(path: Path, bundles: Bundles) -> None:
    case = Case(path)
    lm = bundles(case.family).lm
    close(f"{case.family} bundle lm rows", prompt_rows(lm, prompt_of(case))[None], case["out.prefill_input"], 1e-4)
    assert list(decode(lm, prompt_of(case), greedy, limits_of(case))) == case.ids("out.greedy_tokens")


@pytest.mark.parametrize("path", MODES, ids=case_name)
def test_logits(path: Path, bundles: Bundles) -> None:
    """The stored rows, all but the last few at once, then one by one."""
    case = Case(path)
    lm, rows = bundles(case.family).lm, case["out.tf_input"][0]
    logits = case["out.tf_logits"][0]
    wanted = logits - np.log(np.exp(logits - logits.max(-1, keepdims=True)).sum(-1, keepdims=True))
    wanted -= logits.max(-1, keepdims=True)
    memory = lm.open(len(rows))
    start = len(rows) - case["in.tf_targets"].size
    found = [lm.feed(rows[:start], memory), *(lm.feed(rows[i : i + 1], memory) for i in range(start, len(rows)))]
    close(f"{case.family} bundle lm log-probabilities", np.stack(found), wanted[start - 1 :], 1e-4)


@pytest.mark.parametrize("path", case_files("lm_ratio"), ids=case_name)
def test_limits(path: Path, bundles: Bundles) -> None:
    case = Case(path)
    tokens = list(decode(bundles(case.family).lm, prompt_of(case), greedy, limits_of(case)))
    assert tokens == case.ids("out.greedy_tokens")


@pytest.mark.parametrize("path", case_files("lm_bistream_*"), ids=case_name)
def test_text_in_pieces(path: Path, bundles: Bundles) -> None:
    case = Case(path)
    lm = bundles(case.family).lm
    pieces = [case.ids(f"in.text_chunk{i}") for i in range(int(case["in.n_chunks"]))]
    prompt = Prompt((), case.ids("in.prompt_text"), case.ids("in.prompt_speech_token"))
    text, speech = lm.spec.mix
    assert list(decode_pieces(lm, pieces, prompt, greedy, mix=(text, speech))) == case.ids("out.tokens")


@pytest.mark.parametrize("family", FAMILIES)
def test_sequences_share_steps(family: str, bundles: Bundles) -> None:
    """Sequences of different length in one batch get what each gets alone; one leaves, another joins."""
    lm = bundles(family).lm
    rows = [lm.speech(range(2, 2 + n)) for n in (9, 70, 4)]
    next_row = lm.speech([1])
    alone = []
    for r in rows:
        memory = lm.open(0)
        alone.append([lm.feed(r, memory), lm.feed(next_row, memory)])
    batch = lm.open(0)
    batch.join(lm.open(0))
    first = lm.feed_batch(rows[:2], batch)
    late = lm.open(0)
    lm.feed(rows[2], late)
    batch.join(late)
    both = lm.feed_batch([next_row] * 3, batch)
    batch.keep([2, 0])
    close(f"{family} bundle lm batch", first, np.stack([a[0] for a in alone[:2]]), 1e-4)
    close(f"{family} bundle lm batch", both, np.stack([a[1] for a in alone]), 1e-4)
    last = lm.feed_batch([next_row] * 2, batch)
    close(f"{family} bundle lm batch", last[1], _third_step(rows[0], bundles(family)), 1e-4)


def _third_step(rows: Array, model: FamilyModel) -> Array:
    memory, next_row = model.lm.open(0), model.lm.speech([1])
    for fed in (rows, next_row):
        model.lm.feed(fed, memory)
    return model.lm.feed(next_row, memory)


def velocities(flow: Flow, case: Case, chunk: int, *, together: bool = False) -> Array:
    """Velocities of the sequences of an estimator case: each at its own time, or all at the time of the first."""
    count, names = len(case["in.x"]), {"x": "x", "mu": "mu", "speaker": "spks", "prompt": "cond"}
    limit = {"chunk": np.array(chunk, np.int64)} if flow.spec.frame_chunk else {}
    parts = [slice(0, count)] if together else [slice(row, row + 1) for row in range(count)]
    found = []
    for part in parts:
        feeds = {ours: case[f"in.{theirs}"][part] for ours, theirs in names.items()}
        step = {"step": flow.times.at(float(case["in.t"][part][0]))}
        found.append(flow.estimator.run(["velocity"], feeds | step | limit)[0])
    return np.concatenate(found)


@pytest.mark.parametrize("path", case_files("flow_estimator_*"), ids=case_name)
def test_estimator(path: Path, bundles: Bundles) -> None:
    """Sequences without padding: the runtime never pads."""
    case = Case(path)
    flow, whole = bundles(case.family).flow, case["in.mask"].all((1, 2))
    for name, chunk in (("out.full", WHOLE), ("out.streaming", flow.spec.frame_chunk)):
        if name in case:
            found = velocities(flow, case, chunk)
            close(f"{case.family} bundle flow estimator", found[whole], case[name][whole], 1e-4)


def given_of(case: Case) -> tuple[NDArray[np.int32], Array, Array]:
    """Prompt tokens, prompt mel and speaker vector."""
    prompt = "in.prompt_speech_token" if "in.prompt_speech_token" in case else "in.prompt_token"
    return case[prompt], case["in.prompt_feat"], case["in.embedding"]


@pytest.mark.parametrize("path", case_files("flow_*prompt_*"), ids=case_name)
def test_flow(path: Path, bundles: Bundles) -> None:
    case = Case(path)
    streaming, finalize = bool(case.get("in.streaming", False)), bool(case.get("in.finalize", True))
    flow = bundles(case.family).flow
    mel, cache = flow.continued(
        case["in.token"], *given_of(case), case["in.z"], streaming, finalize, cache=case.get("in.cache")
    )
    close(f"{case.family} bundle flow mel", mel, case["out.mel"], 2e-4)
    if cache is not None:
        close(f"{case.family} bundle flow cache", cache, case["out.cache"], 2e-4)


@pytest.mark.parametrize("path", case_files("hift_*"), ids=case_name)
def test_vocoder(path: Path, bundles: Bundles) -> None:
    case = Case(path)
    vocoder, mel = bundles(case.family).vocoder, case["in.mel"]
    noise, phases = (None if value is None else value.numpy() for value in noise_of(case))
    assert noise is not None
    ends = [("", True), ("_nofinal", False)] if "out.f0_nofinal" in case else [("", True)]
    for end, finalize in ends:
        close(f"{case.family} bundle pitch (Hz)", vocoder.pitch(mel, finalize=finalize), case[f"out.f0{end}"], 1e-3)
        source = vocoder.source(case[f"out.f0{end}"], noise, phases)
        close(f"{case.family} bundle excitation", source, case[f"out.source{end}"], 1e-4)
        wave = vocoder.decode(mel, case[f"out.source{end}"], finalize=finalize)
        close(f"{case.family} bundle waveform", wave, case[f"out.wav{end}"], 2e-4)


@pytest.mark.parametrize("path", case_files("chain_*"), ids=case_name)
def test_chain(path: Path, bundles: Bundles) -> None:
    case = Case(path)
    model = bundles(case.family)
    tokens = case.ids("in.token") if "in.token" in case else None
    if tokens is None:
        prompts = case["in.prompt_text"], case["in.prompt_speech_token"]
        tokens = model.lm.decode(case["in.text"], *prompts, case["in.embedding"], "greedy")
        assert tokens == case.ids("out.llm_tokens")
        tokens = list(limit_silence(tokens, SILENT_TOKENS[model.manifest.family]))
    noise = case["in.z"] if "in.z" in case else flow_noise().numpy()
    mel = model.flow(np.array([tokens]), *given_of(case), noise)
    close(f"{case.family} bundle chain mel", mel, case["out.mel"], 2e-4)
    speed = float(case.get("in.speed", np.float32(1)))
    wave = model.vocoder(resize_frames(mel, speed) if speed != 1 else mel, case["out.source"])
    close(f"{case.family} bundle chain waveform", wave, case["out.wav"], 2e-4)


@dataclass
class StreamedVocoder:
    """A bundle's vocoder with the stored excitation of each call, or (v3) with stored noise."""

    model: FamilyModel
    sources: list[Array]
    noise: Array | None = None

    def excite(self, mel: Array, *, finalize: bool) -> Array:
        if self.noise is None:
            return self.sources.pop(0)
        return self.model.vocoder.excite(mel, self.noise, finalize=finalize)

    def decode(self, mel: Array, source: Array, *, finalize: bool) -> Array:
        return self.model.vocoder.decode(mel, source, finalize=finalize)


def joined(model: FamilyModel, vocoder: StreamedVocoder) -> FadingVocoder | GrowingVocoder:
    return official_joiner(model.manifest.family, vocoder, model.manifest.vocoder.source.samples_per_frame)


def streaming_vocoder(case: Case, model: FamilyModel) -> FadingVocoder | GrowingVocoder:
    if case.family == "v3":
        with np.load(ROOT / "v3" / "hift_noise.npz") as stored:
            return joined(model, StreamedVocoder(model, [], stored["sine_noise"]))
    sources = [case[f"in.fresh_source{i}"] for i in range(int(case["out.n_chunks"]))]
    return joined(model, StreamedVocoder(model, sources))


@pytest.mark.parametrize("path", case_files("stream_*"), ids=case_name)
def test_stream(path: Path, bundles: Bundles) -> None:
    case = Case(path)
    model, cache = bundles(case.family), None
    vocoder = streaming_vocoder(case, model)
    for number, chunk in enumerate(chunks_of(case)):
        noise = case[f"in.z{number}"] if f"in.z{number}" in case else flow_noise().numpy()
        tokens = np.array([chunk.tokens])
        mel, cache = model.flow.continued(tokens, *given_of(case), noise, not chunk.final, chunk.final, cache=cache)
        stored = case[f"out.flow_mel{number}"]
        close(f"{case.family} bundle stream mel", mel, stored, 2e-4)
        done = chunk.done * model.flow.spec.frames_per_token
        wave = vocoder.push(stored[..., done:], final=chunk.final)
        close(f"{case.family} bundle stream waveform", wave, case[f"out.wav{number}"], 2e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_sampling_is_repeatable(family: str, bundles: Bundles, folder: Path) -> None:
    """The same seed gives the same tokens, another seed others; also through the public loader."""
    bundles(family)
    lm = load(folder / family, threads=1).lm
    text = [151646, 5, 6, 7, 8] if family == "v3" else [5, 6, 7, 8, 9]
    runs = [lm.decode(text, prompt_tokens=[1, 2], seed=seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert max(len(run) for run in runs) <= 20 * len(text)


@pytest.mark.parametrize("path", case_files("stream_*", families=("v2", "v3")), ids=case_name)
def test_chunks_equal_the_whole_when_the_mask_is_kept(path: Path, bundles: Bundles) -> None:
    """With attention limited to chunks to the very end, chunk by chunk and all at once give the same mel."""
    case = Case(path)
    flow, noise = bundles(case.family).flow, flow_noise().numpy()
    whole = flow(case["in.token"], *given_of(case), noise, streaming=True)
    parts = []
    for chunk in chunks_of(case):
        mel = flow(np.array([chunk.tokens]), *given_of(case), noise, streaming=True, finalize=chunk.final)
        parts.append(mel[..., chunk.done * flow.spec.frames_per_token :])
    close(f"{case.family} chunks and whole", np.concatenate(parts, -1), whole, 2e-4)


@pytest.mark.parametrize("sizes", [(30,), (1, 7, 64)], ids=str)
@pytest.mark.parametrize("path", case_files("stream_*", families=("v2", "v3")), ids=case_name)
def test_exact_vocoder(path: Path, sizes: tuple[int, ...], bundles: Bundles) -> None:
    """Chunks of any size give the waveform of the whole."""
    case = Case(path)
    vocoder = bundles(case.family).vocoder
    mel = case[f"out.flow_mel{int(case['out.n_chunks']) - 1}"]
    samples = mel.shape[-1] * vocoder.spec.source.samples_per_frame
    noise = np.random.default_rng(3).random((1, samples, vocoder.spec.source.sines), np.float32)
    whole = vocoder(mel, vocoder.excite(mel, noise))
    exact = ExactVocoder(vocoder, lambda start, count: noise[:, start : start + count])
    parts: list[Array] = []
    at = 0
    while at < mel.shape[-1]:
        size = sizes[len(parts) % len(sizes)]
        parts.append(exact.push(mel[..., at : at + size], final=at + size >= mel.shape[-1]))
        at += size
    close(f"{case.family} exact vocoder", np.concatenate(parts, -1), whole, 2e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_requests_share_one_loop(family: str, bundles: Bundles) -> None:
    """Requests that come and go get the tokens they get alone."""
    lm = bundles(family).lm
    cases = [Case(path) for path in MODES if path.parts[-3] == family]
    requests = [Request(prompt_of(case), greedy, limits_of(case)) for case in cases]
    loop = DecodeLoop(lm, rows=2)
    loop.submit(requests[0])
    for _ in range(3):
        loop.step()
    for request in requests[1:]:
        loop.submit(request)
    while loop.busy:
        loop.step()
    for case, request in zip(cases, requests, strict=True):
        assert request.tokens == case.ids("out.greedy_tokens")


def test_a_late_short_request_overtakes_a_long_one(bundles: Bundles) -> None:
    lm = bundles("v2").lm

    def ending_after(count: int) -> Sampler:
        return lambda logp, history: 3 if len(history) < count else lm.controls.end

    long, short = (Request(Prompt([5] * 10), ending_after(count)) for count in (60, 25))
    loop = DecodeLoop(lm)
    loop.submit(long)
    for _ in range(10):
        loop.step()
    loop.submit(short)
    while not short.done:
        loop.step()
    assert len(short.tokens) == 25
    assert not long.done
    while loop.busy:
        loop.step()
    assert len(long.tokens) == 60


def test_a_request_can_be_cancelled(bundles: Bundles) -> None:
    lm = bundles("v2").lm
    endless = [Request(Prompt([5] * 40), lambda logp, history: 3) for _ in range(2)]
    loop = DecodeLoop(lm)
    for request in endless:
        loop.submit(request)
    for _ in range(3):
        loop.step()
    loop.cancel(endless[0])
    loop.step()
    loop.cancel(endless[1])
    loop.step()
    assert not loop.busy
    assert [len(request.tokens) for request in endless] == [3, 4]


def signal_to_noise(found: Array, wanted: Array) -> float:
    """Decibels."""
    return float(10 * np.log10((wanted**2).mean() / ((found - wanted) ** 2).mean()))


@pytest.mark.parametrize("family", FAMILIES)
def test_int8(family: str, bundles: Bundles, folder: Path) -> None:
    """Products in int8 stay close to float, and what one row gets does not depend on the others."""
    float_model = bundles(family)
    export_family(checkpoint(family), folder / f"{family}-int8", name="toy", precision="int8")
    model = load_family(folder / f"{family}-int8", threads=1)
    case = Case(case_files("flow_estimator_1", families=(family,))[0])
    together = velocities(model.flow, case, WHOLE, together=True)
    close(f"{family} int8 estimator alone or in a batch", together[:1], velocities(model.flow, case, WHOLE)[:1], 1e-4)
    assert signal_to_noise(velocities(model.flow, case, WHOLE), case["out.full"]) > 25
    rows = model.lm.speech([5, 6, 7, 8])
    alone, batch = model.lm.open(0), model.lm.open(0)
    batch.join(model.lm.open(0))
    wanted = model.lm.feed(rows, alone)
    close(f"{family} int8 lm alone or in a batch", model.lm.feed_batch([rows, rows[:1]], batch)[0], wanted, 1e-4)
    assert signal_to_noise(wanted, float_model.lm.feed(rows, float_model.lm.open(0))) > 25


@pytest.mark.parametrize("precision, least", [("fp16", 50), ("int4", 8)])
@pytest.mark.parametrize("family", FAMILIES)
def test_other_precisions(family: str, precision: Precision, least: float, bundles: Bundles, folder: Path) -> None:
    """Smaller bundles stay close to float."""
    target = folder / f"{family}-{precision}"
    export_family(checkpoint(family), target, name="toy", precision=precision)
    small, wanted = load_family(target, threads=1).lm, bundles(family).lm
    rows = wanted.speech([5, 6, 7, 8])
    found = small.feed(rows, small.open(0))
    assert signal_to_noise(found, wanted.feed(rows, wanted.open(0))) > least
    assert np.allclose(small.feed_batch([rows], small.open(0))[0], found, atol=1e-5)


def test_bad_bundles_are_refused(bundles: Bundles, folder: Path, tmp_path: Path) -> None:
    bundles("v2")
    with pytest.raises(BundleError, match="no bundle"):
        load_family(tmp_path)
    (folder / "v2" / "stray").touch()
    with pytest.raises(BundleError, match="does not list: stray"):
        load_family(folder / "v2")
    (folder / "v2" / "stray").unlink()
    manifest = folder / "v2" / "bundle.json"
    text = manifest.read_text()
    for old, new, message in (
        ('"family": "v2"', '"family": "v4"', "must be one of v1, v2, v3"),
        ('"licence"', '"license"', "unknown key 'license'"),
        ('"format": 1', '"format": 9', "format 9"),
    ):
        manifest.write_text(text.replace(old, new))
        with pytest.raises(BundleError, match=message):
            load_family(folder / "v2")
    manifest.write_text(text)
