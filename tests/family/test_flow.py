"""Flows against golden data: estimators, condition paths, whole runs, and the parts they are made of."""

from pathlib import Path

import numpy as np
import pytest
import torch

from cosylite.lab.models.encoder import LookAhead, UpsamplingEncoder
from cosylite.lab.models.flow import CausalFlow, Condition, TokenFlow, guided
from cosylite.runtime.family.flow import cosine_times, euler_steps

from .golden import ROOT, Case, case_files, case_name, checkpoint, close

TOLERANCE = 2e-4
ESTIMATOR_TOLERANCE = 1e-4
STEPS = euler_steps(cosine_times(10))
V1_FLOWS = [p for p in case_files("flow_*prompt_*", families=("v1",))]
CAUSAL_FLOWS = case_files("flow_*prompt_stream*", families=("v2", "v3"))


def tensor(case: Case, name: str) -> torch.Tensor:
    return torch.from_numpy(case[name])


def tokens(case: Case, name: str) -> torch.Tensor:
    return torch.from_numpy(case[name]).long()


@pytest.mark.parametrize("path", case_files("flow_estimator_*"), ids=case_name)
@torch.inference_mode()
def test_estimator(path: Path) -> None:
    case = Case(path)
    estimator = checkpoint(case.family).model.flow.estimator
    given = [tensor(case, f"in.{name}") for name in ("x", "mask", "mu", "t", "spks", "cond")]
    for name, streaming in (("out.full", False), ("out.streaming", True)):
        if name in case:
            found = estimator(*given, streaming=streaming)
            close(f"{case.family} flow estimator", found, case[name], ESTIMATOR_TOLERANCE)


def check_solver(
    case: Case, flow: TokenFlow | CausalFlow, start: torch.Tensor, given: Condition, streaming: bool
) -> None:
    """Hold the first and the last step of the solver against the stored ones."""
    close(f"{case.family} flow times", [step.time for step in STEPS], case["out.t_steps"], 1e-6)
    close(f"{case.family} flow condition", given.mu, case["out.mu"], TOLERANCE)
    close(f"{case.family} flow speaker", given.speaker, case["out.spk_proj"], TOLERANCE)
    if "out.x_step0" not in case:
        return
    close(f"{case.family} flow prompt", given.prompt, case["out.cond"], TOLERANCE)
    close(f"{case.family} flow start", start, case["out.x_step0"], TOLERANCE)
    velocity = guided(flow.estimator, start, STEPS[0].time, given, flow.config.guidance, streaming)
    rows = case["out.est_step0"]
    guidance = flow.config.guidance
    close(f"{case.family} flow velocity", velocity, (1 + guidance) * rows[:1] - guidance * rows[1:], TOLERANCE)
    close(
        f"{case.family} flow before last step",
        flow.solve(start, given, STEPS[:-1], streaming=streaming),
        case["out.x_step9"],
        TOLERANCE,
    )


@pytest.mark.parametrize("path", V1_FLOWS, ids=case_name)
@torch.inference_mode()
def test_token_flow(path: Path) -> None:
    case = Case(path)
    flow = checkpoint(case.family).model.flow
    assert isinstance(flow, TokenFlow)
    target, prompt, feat = tokens(case, "in.token"), tokens(case, "in.prompt_token"), tensor(case, "in.prompt_feat")
    states = flow.encoder(flow.embed(torch.cat([prompt, target], 1)))
    close("v1 flow encoder", states, case["out.encoder"], TOLERANCE)
    close("v1 flow encoder projection", flow.projection(states), case["out.encoder_proj"], TOLERANCE)
    cache = tensor(case, "in.cache") if "in.cache" in case else None
    frames = feat.shape[1]
    given = flow.condition(flow.mu(target, prompt, frames), tensor(case, "in.embedding"), feat)
    start, given, _ = flow.resume(tensor(case, "in.z"), given, frames, cache)
    check_solver(case, flow, start, given, False)
    mel, kept = flow(target, prompt, feat, tensor(case, "in.embedding"), tensor(case, "in.z"), STEPS, cache)
    close("v1 flow mel", mel, case["out.mel"], TOLERANCE)
    close("v1 flow cache", kept, case["out.cache"], TOLERANCE)


@pytest.mark.parametrize("path", case_files("flow_regulator"), ids=case_name)
@torch.inference_mode()
def test_length_regulator(path: Path) -> None:
    case = Case(path)
    flow = checkpoint(case.family).model.flow
    assert isinstance(flow, TokenFlow)
    for name in [name for name in case if name.startswith("in.lens")]:
        prompt, _, prompt_frames, frames = case.ids(name)
        states = tensor(case, name.replace("lens", "h"))
        found = flow.regulator(states[:, :prompt], states[:, prompt:], prompt_frames, frames)
        close("v1 length regulator", found, case[name.replace("in.lens", "out.mu")], TOLERANCE)


@pytest.mark.parametrize("path", CAUSAL_FLOWS, ids=case_name)
@torch.inference_mode()
def test_causal_flow(path: Path) -> None:
    case = Case(path)
    flow = checkpoint(case.family).model.flow
    assert isinstance(flow, CausalFlow)
    streaming, finalize = bool(case["in.streaming"]), bool(case["in.finalize"])
    target, prompt, feat = tokens(case, "in.token"), tokens(case, "in.prompt_token"), tensor(case, "in.prompt_feat")
    joined = torch.cat([prompt, target], 1)
    states = flow.encode(joined, streaming=streaming, finalize=finalize)
    close(
        f"{case.family} flow encoder",
        states,
        case["out.encoder" if case.family == "v2" else "out.pre_lookahead"],
        TOLERANCE,
    )
    mu = flow.mu(joined, streaming=streaming, finalize=finalize)
    given = flow.condition(mu, tensor(case, "in.embedding"), feat)
    check_solver(case, flow, tensor(case, "in.z"), given, streaming)
    mel = flow(
        target,
        prompt,
        feat,
        tensor(case, "in.embedding"),
        tensor(case, "in.z"),
        STEPS,
        streaming=streaming,
        finalize=finalize,
    )
    close(f"{case.family} flow mel", mel, case["out.mel"], TOLERANCE)


@pytest.mark.parametrize("path", case_files("flow_encoder_module", families=("v2",)), ids=case_name)
@torch.inference_mode()
def test_upsampling_encoder(path: Path) -> None:
    case = Case(path)
    flow = checkpoint(case.family).model.flow
    encoder, x = flow.encoder, tensor(case, "in.x")
    assert isinstance(encoder, UpsamplingEncoder)
    ahead = flow.config.look_ahead
    for streaming in (False, True):
        name = f"out.stream{int(streaming)}"
        close("v2 flow encoder module", encoder(x, streaming=streaming), case[f"{name}_nocontext"], TOLERANCE)
        found = encoder(x[:, :-ahead], future=x[:, -ahead:], streaming=streaming)
        close("v2 flow encoder module", found, case[f"{name}_context3"], TOLERANCE)
    visible = torch.arange(case["in.batch"].shape[1])[None] < torch.tensor(case.ids("in.batch_lens"))[:, None]
    close("v2 flow encoder batch", encoder(tensor(case, "in.batch"), visible=visible), case["out.batch"], TOLERANCE)
    assert (visible.repeat_interleave(2, 1)[:, None].numpy() == case["out.batch_mask"]).all()


@pytest.mark.parametrize("path", case_files("flow_encoder_module", families=("v3",)), ids=case_name)
@torch.inference_mode()
def test_look_ahead(path: Path) -> None:
    case = Case(path)
    flow = checkpoint(case.family).model.flow
    layer, x, ahead = flow.encoder, tensor(case, "in.x"), flow.config.look_ahead
    assert isinstance(layer, LookAhead)
    close("v3 look-ahead", layer(x), case["out.nocontext"], TOLERANCE)
    close("v3 look-ahead", layer(x[:, :-ahead], x[:, -ahead:]), case["out.context3"], TOLERANCE)


def test_schedule() -> None:
    case = np.load(ROOT / "common" / "cfm_schedule.npz")
    for steps in [int(name.removeprefix("out.t_span")) for name in case if name.startswith("out.t_span")]:
        times = cosine_times(steps)
        close("flow schedule", times, case[f"out.t_span{steps}"], 1e-7)
        found = euler_steps(times)
        close("flow schedule", [step.time for step in found], case[f"out.t{steps}"], 1e-7)
        close("flow schedule", [step.size for step in found], case[f"out.dt{steps}"], 1e-7)
