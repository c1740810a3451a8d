"""nano's networks: streaming equals one run, batches equal single rows, shapes and losses make sense."""

import dataclasses

import numpy as np
import pytest
import torch

from cosylite.lab.nano.acoustic import AcousticModel, expand
from cosylite.lab.nano.blocks import CausalStack, rotary, stack_frames
from cosylite.lab.nano.config import AcousticConfig, VocoderConfig
from cosylite.lab.nano.vocoder import Vocoder, envelope_matrix, waveform
from cosylite.runtime.stft import istft

TINY = AcousticConfig(
    symbols=20, voices=3, voice_width=8, encoder_width=16, encoder_hidden=32, encoder_heads=2, encoder_layers=2,
    decoder_width=24, decoder_hidden=32, decoder_dilations=(1, 2, 1),
)  # fmt: skip
TINY_VOCODER = VocoderConfig(width=96, hidden=32, hop_dilations=(1, 2))


@pytest.fixture(autouse=True)
def fixed_seed() -> None:
    torch.manual_seed(3)


def test_stacked_frames_are_a_convolution() -> None:
    x = torch.randn(2, 9, 4)
    weight = torch.randn(5, 4, 3)
    stacked = stack_frames(x, 3, 2) @ weight.permute(0, 2, 1).reshape(5, 12).T
    wanted = torch.nn.functional.conv1d(x.transpose(1, 2), weight, dilation=2).transpose(1, 2)
    torch.testing.assert_close(stacked, wanted)


@pytest.mark.parametrize("cuts", [[1, 2, 8], [5], [1] * 10, [3, 4, 4]])
def test_a_causal_stack_streams_exactly(cuts: list[int]) -> None:
    stack = CausalStack(12, 16, 3, (1, 2, 4))
    x = torch.randn(2, sum(cuts), 12)
    whole, last = stack(x, torch.zeros(2, stack.past, 12))
    state, parts = torch.zeros(2, stack.past, 12), []
    for piece in x.split(cuts, dim=1):
        part, state = stack(piece, state)
        parts.append(part)
    torch.testing.assert_close(torch.cat(parts, 1), whole)
    torch.testing.assert_close(state, last)


def test_rotary_positions_depend_on_distance_only() -> None:
    q, k = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)
    scores = [
        (rotary(q.expand(1, 1, n, 8))[0, 0, i] * rotary(k.expand(1, 1, n, 8))[0, 0, j]).sum()
        for n, i, j in ((4, 3, 1), (9, 8, 6))
    ]
    torch.testing.assert_close(scores[0], scores[1])


def test_padding_does_not_change_a_row_of_the_encoder() -> None:
    model = AcousticModel(TINY).eval()
    tokens = torch.randint(1, 20, (1, 7))
    padded = torch.cat([tokens, torch.zeros(1, 5, dtype=torch.long)], 1)
    both = torch.cat([padded, torch.randint(1, 20, (1, 12))])
    voice = torch.randn(1, 8)
    alone = model.encoder(tokens, torch.tensor([7]), voice)
    batch = model.encoder(both, torch.tensor([7, 12]), voice.expand(2, -1))
    torch.testing.assert_close(batch[0][:1, :7], alone[0])
    torch.testing.assert_close(batch[1][:1, :7], alone[1])


def test_expand_gives_every_symbol_its_frames() -> None:
    states = torch.arange(6, dtype=torch.float32).reshape(1, 3, 2)
    cond, position = expand(states, torch.tensor([[2, 0, 3]]))
    assert cond[0, :, 0].tolist() == [0, 0, 4, 4, 4]
    np.testing.assert_allclose(position[0, :, 0], [0.25, 0.75, 1 / 6, 0.5, 5 / 6], rtol=1e-6)
    np.testing.assert_allclose(position[0, :, 1], np.log([2, 2, 3, 3, 3]) / 4, rtol=1e-6)


def test_the_flow_learns_a_constant() -> None:
    """A few steps of training bring the velocity loss down: the loss and the gradient fit together."""
    model = AcousticModel(dataclasses.replace(TINY, decoder_width=160, decoder_hidden=160))
    target = torch.full((1, 6, 82), 0.7)
    cond, position = torch.randn(1, 6, 16), torch.rand(1, 6, 2)
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    losses = []
    for _ in range(150):
        noise, time = torch.randn_like(target), torch.rand(1) * 0.3
        mixed = noise + (target - noise) * time
        velocity, _, _ = model.decoder(mixed, cond, position, time, model.decoder.start(1))
        loss = (velocity - (target - noise)).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert np.mean(losses[-10:]) < 0.6 * np.mean(losses[:10])


@pytest.mark.parametrize("cuts", [[4, 4, 4], [1] * 12, [11, 1]])
def test_the_vocoder_streams_exactly(cuts: list[int]) -> None:
    vocoder = Vocoder(TINY_VOCODER, np.zeros(80), np.ones(80)).eval()
    mel, pitch = torch.randn(1, 12, 80), torch.rand(1, 12, 2)
    harmonic, noise = torch.randn(1, 24, 962), torch.randn(1, 24, 962)
    whole, _ = vocoder(mel, pitch, harmonic, noise, vocoder.start(1))
    state, parts, at = vocoder.start(1), [], 0
    for n in cuts:
        rows, hops = slice(at, at + n), slice(2 * at, 2 * (at + n))
        part, state = vocoder(mel[:, rows], pitch[:, rows], harmonic[:, hops], noise[:, hops], state)
        parts.append(part)
        at += n
    torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=1e-4, atol=1e-5)


def test_an_output_frame_sees_its_lookahead_and_no_further() -> None:
    vocoder = Vocoder(TINY_VOCODER, np.zeros(80), np.ones(80)).eval()
    mel = torch.randn(1, 14, 80)
    others = [torch.rand(1, 14, 2), torch.randn(1, 28, 962), torch.randn(1, 28, 962), vocoder.start(1)]
    changed = mel.clone()
    changed[:, 9] += 1
    first, second = vocoder(mel, *others)[0], vocoder(changed, *others)[0]
    differs = (first - second).abs().amax(dim=(0, 2)) > 0
    assert not differs[: 2 * 9].any() and differs[2 * 9]


def test_an_untrained_vocoder_follows_the_envelope_of_the_mel() -> None:
    matrix = envelope_matrix()
    assert matrix.shape == (80, 481)
    np.testing.assert_allclose(matrix.sum(0), 1.0, atol=1e-6)


def test_the_inverse_transform_is_that_of_the_runtime() -> None:
    spectrum = torch.randn(1, 20, 962)
    made, runtime = waveform(spectrum)[0].numpy(), istft(spectrum[0].numpy())
    np.testing.assert_allclose(made[960:-960], runtime[960:-960], atol=2e-5)
