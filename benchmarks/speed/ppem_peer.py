"""One process of `speed-ppem` in plain PyTorch, in an environment that has it.

The same step as `ppem_step`, written as one would: the same networks, batches, losses, gradient penalties, Stein
penalty, optimiser and averaged generators, eager mode, rows in memory of the device. No nacre, no JAX. Where there are
several cores, the better of one thread and one for each core counts.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import nn

from benchmarks.speed.clock import best

ROWS, HIDDEN, VISIBLE, CLASSES, BATCH, LATENT, WIDTH = 227_845, 2, 27, 2, 256, 128, 256
TURNS, MARGIN, STEEP, WEIGHT, LEVEL, ANCHOR, BANDWIDTH, MEMORY = 5, 10.0, 1.0, 10.0, 3.8415, 1e-3, 1.0, 0.999
STEPS = 4
LEAKY = nn.LeakyReLU(0.2)


class Branched(nn.Module):
    """A first layer for every input, one middle layer, a linear last one; layer norm and a shortcut in generators."""

    def __init__(self, inputs, outputs, generator=False, width=WIDTH):
        super().__init__()
        share = width // len(inputs)
        self.first = nn.ModuleList(nn.Linear(size, share) for size in inputs)
        self.middle, self.last = nn.Linear(width, width), nn.Linear(width, outputs)
        self.norms = nn.ModuleList([nn.LayerNorm(share), nn.LayerNorm(width)]) if generator else None

    def forward(self, *inputs):
        found = [layer(x) for layer, x in zip(self.first, inputs)]
        if self.norms is not None:
            found[0] = self.norms[0](found[0])
        x = torch.cat([LEAKY(f) for f in found], dim=1)
        y = self.middle(x)
        y = LEAKY(self.norms[1](y)) + x if self.norms is not None else LEAKY(y)
        return self.last(y)


def slope_of(energy, x, create_graph=True):
    x = x.detach().requires_grad_(True)
    return torch.autograd.grad(energy(x).sum(), x, create_graph=create_graph)[0]


def lipschitz(energy, real, fake, mix):
    slope = slope_of(energy, mix * real + (1 - mix) * fake)
    return ((torch.sqrt((slope**2).sum(1) + 1e-12) - 1) ** 2).mean()


def stein_penalty(energy, x):
    s = -slope_of(energy, x)
    (a, b), (sa, sb) = (x[0::2], x[1::2]), (s[0::2], s[1::2])
    d, h2 = a - b, BANDWIDTH**2
    r2 = (d**2).sum(1)
    u = torch.exp(-0.5 * r2 / h2) * (
        (sa * sb).sum(1) + ((sa - sb) * d).sum(1) / h2 + HIDDEN / h2 - r2 / h2**2
    )  # fmt: skip
    n = len(u)
    return torch.clamp(LEVEL - (n - 1) / n * u.sum() ** 2 / ((u**2).sum() + 1e-12), min=0.0)


class Training:
    def __init__(self, device):
        rng = np.random.default_rng(0)
        hidden = rng.normal(size=(ROWS, HIDDEN)) * np.exp(0.3 * rng.normal(size=(ROWS, 1)))
        visible = np.tanh(hidden @ rng.normal(size=(HIDDEN, VISIBLE))) + rng.normal(size=(ROWS, VISIBLE))
        kinds = (rng.random(ROWS) < 1 / 600).astype(np.int64)
        self.hidden, self.visible = (torch.tensor(x, dtype=torch.float32, device=device) for x in (hidden, visible))
        self.kinds = torch.tensor(kinds, device=device)
        self.rare = torch.nonzero(self.kinds == 1)[:, 0]
        self.usual = torch.nonzero(self.kinds == 0)[:, 0]
        condition = HIDDEN + CLASSES
        self.xi, self.gamma = Branched((HIDDEN,), 1), Branched((VISIBLE, condition), 1)
        self.chooser = Branched((HIDDEN,), CLASSES, width=64)
        self.omega, self.v = Branched((LATENT,), HIDDEN, True), Branched((LATENT, condition), VISIBLE, True)
        judges, makers = [self.xi, self.gamma, self.chooser], [self.omega, self.v]
        for net in (*judges, *makers):
            net.to(device)
        self.judging = torch.optim.Adam([p for n in judges for p in n.parameters()], 1e-3, (0.5, 0.9))
        self.making = torch.optim.Adam([p for n in makers for p in n.parameters()], 5e-4, (0.5, 0.9))
        self.makers = [p for n in makers for p in n.parameters()]
        self.mean = [p.detach().clone() for p in self.makers]
        self.device = device
        share = torch.bincount(self.kinds, minlength=2) / ROWS
        self.shift = torch.log((0.25 + 0.5 * share) / share)

    def drawn(self):
        """Half of the rows uniformly, half by a uniform class."""
        half = BATCH // 2
        plain = torch.randint(ROWS, (BATCH - half,), device=self.device)
        rare = self.rare[torch.randint(len(self.rare), (half,), device=self.device)]
        usual = self.usual[torch.randint(len(self.usual), (half,), device=self.device)]
        coin = torch.rand(half, device=self.device) < 0.5
        return torch.cat([torch.where(coin, rare, usual), plain])

    def given(self, j):
        return torch.cat([self.hidden[j], nn.functional.one_hot(self.kinds[j], CLASSES).float()], dim=1)

    def marginal(self, x):
        return nn.functional.softplus(self.xi(x)[:, 0]) + ANCHOR * (x**2).sum(1)

    def noise(self):
        return torch.randn(BATCH, LATENT, device=self.device)

    def judge(self):
        i, j = torch.randint(ROWS, (BATCH,), device=self.device), self.drawn()
        real, visible, given = self.hidden[i], self.visible[j], self.given(j)
        with torch.no_grad():
            fake, other = self.omega(self.noise()), self.v(self.noise(), given)
        conditional = lambda x: nn.functional.softplus(self.gamma(x, given)[:, 0])  # noqa: E731
        mix = torch.rand(2, BATCH, 1, device=self.device)
        loss = (self.marginal(real) + torch.clamp(MARGIN - self.marginal(fake), min=0.0)).mean()
        loss = loss + (conditional(visible) + torch.clamp(MARGIN - conditional(other), min=0.0)).mean()
        loss = loss + STEEP * lipschitz(self.marginal, real, fake, mix[0])
        loss = loss + STEEP * lipschitz(conditional, visible, other, mix[1])
        loss = loss + WEIGHT * stein_penalty(self.marginal, real)
        logits = self.chooser(self.hidden[j]) + self.shift
        loss = loss + nn.functional.cross_entropy(logits, self.kinds[j])
        self.judging.zero_grad(set_to_none=True)
        loss.backward()
        self.judging.step()

    def step(self):
        for _ in range(TURNS):
            self.judge()
        given = self.given(self.drawn())
        conditional = nn.functional.softplus(self.gamma(self.v(self.noise(), given), given)[:, 0])
        loss = self.marginal(self.omega(self.noise())).mean() + conditional.mean()
        self.making.zero_grad(set_to_none=True)
        loss.backward()
        self.making.step()
        with torch.no_grad():
            torch._foreach_lerp_(self.mean, self.makers, 1 - MEMORY)


def measured(device, repeats, now):
    training = Training(device)

    def run():
        for _ in range(STEPS):
            training.step()
        if device != "cpu":
            torch.cuda.synchronize()

    return best(run, repeats, now) / STEPS


def step(device, repeats, cores):
    torch.manual_seed(0)
    found = []
    for threads in sorted({1, cores}):
        torch.set_num_threads(threads)
        found.append(measured(device, repeats, time.process_time if cores == 1 else time.perf_counter))
    seconds = min(found)
    rows = TURNS * BATCH / seconds
    return {"step_ms": 1e3 * seconds, "trained_rows_per_s": rows, "version": torch.__version__}
