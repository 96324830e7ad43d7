"""One process of `speed-expm` for Opacus, in an environment that has it.

Batches are handed over ready; what is timed is gradient, clipping, noise and update. GRU-D is written for Opacus's own
layers, with what the hidden state does not touch computed for all hours at once, as in nacre.
"""

from __future__ import annotations

import importlib.metadata

import numpy as np
import torch
from torch import nn

from benchmarks.speed.clock import of_steps

HOURS, INPUTS, HIDDEN = 24, 104, 10
BATCH = {"lr": 256, "grud": 128}
STEPS = 10


class Scaled(nn.Module):
    """A weight and a bias per measurement; Opacus differentiates it by functorch."""

    def __init__(self, inputs: int):
        super().__init__()
        self.weight, self.bias = nn.Parameter(0.1 * torch.randn(inputs)), nn.Parameter(torch.zeros(inputs))

    def forward(self, x):
        return x * self.weight + self.bias


class GruD(nn.Module):
    def __init__(self):
        super().__init__()
        self.fade, self.decay = Scaled(INPUTS), nn.Linear(INPUTS, HIDDEN)
        self.seen, self.masks = nn.Linear(INPUTS, 3 * HIDDEN), nn.Linear(INPUTS, 3 * HIDDEN, bias=False)
        self.gates = nn.Linear(HIDDEN, 2 * HIDDEN, bias=False)
        self.new, self.out = nn.Linear(HIDDEN, HIDDEN, bias=False), nn.Linear(HIDDEN, 1)

    def forward(self, given):
        values, mask, gap, last = given.unbind(1)
        fade = torch.exp(-torch.relu(self.fade(gap)))
        seen = mask * values + (1 - mask) * fade * last
        decays = torch.exp(-torch.relu(self.decay(gap)))
        inputs = self.seen(seen) + self.masks(mask)
        h = torch.zeros(len(given), HIDDEN, device=given.device)
        for t in range(HOURS):
            hh = decays[:, t] * h
            z, r = torch.sigmoid(inputs[:, t, : 2 * HIDDEN] + self.gates(hh)).chunk(2, dim=1)
            h = (1 - z) * hh + z * torch.tanh(inputs[:, t, 2 * HIDDEN :] + self.new(r * hh))
        return self.out(h)


def records(batch: int) -> np.ndarray:
    """[batch, 4, hours, inputs]: values, masks, gaps, last values."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((batch, HOURS, INPUTS)).clip(-1, 1)
    mask = (rng.random(values.shape) < 0.11).astype(float)
    gap, last = np.zeros_like(values), np.zeros_like(values)
    for t in range(1, HOURS):
        gap[:, t] = 1 + (1 - mask[:, t - 1]) * gap[:, t - 1]
        last[:, t] = np.where(mask[:, t - 1] > 0, values[:, t - 1], last[:, t - 1])
    return np.stack([values * mask, mask, gap, last], axis=1).astype(np.float32)


def steps(kind: str, device: str):
    from opacus import PrivacyEngine

    torch.manual_seed(0)
    torch.set_num_threads(1)
    rng, batch = np.random.default_rng(1), BATCH[kind]
    x = records(batch) if kind == "grud" else rng.standard_normal((batch, HOURS * INPUTS)).astype(np.float32)
    x = torch.tensor(x, device=device)
    y = torch.tensor(rng.random((batch, 1)) < 0.3, dtype=torch.float32, device=device)
    model = (GruD() if kind == "grud" else nn.Linear(HOURS * INPUTS, 1)).to(device)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=batch)
    rule = torch.optim.Adam(model.parameters(), 1e-3) if kind == "grud" else torch.optim.SGD(model.parameters(), 1e-3)
    made = PrivacyEngine().make_private(
        module=model, optimizer=rule, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0,
        poisson_sampling=False,
    )  # fmt: skip
    model, optimiser = made[0], made[1]

    def run():
        for _ in range(STEPS):
            optimiser.zero_grad()
            torch.square(torch.sigmoid(model(x)) - y).mean().backward()
            optimiser.step()
        if device == "cuda":
            torch.cuda.synchronize()

    return run


def step(model: str, repeats: int) -> dict[str, object]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    figures = of_steps(steps(model, device), STEPS, repeats, wall=device == "cuda")
    return {**figures, "version": importlib.metadata.version("opacus")}
