"""CTGAN's training for a graphics processor: networks, losses and settings of the package `ctgan`, another loop.

The package handles the columns one after the other and draws the rows of a batch one by one on the processor. Here the
spans of all columns are handled together, rows are drawn on the device, and on CUDA a step is recorded once and then
replayed; several models (seeds) can be recorded side by side. What a step computes is what `ctgan.CTGAN.fit` computes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

BATCH, PAC, LATENT, TEMPERATURE = 500, 10, 128, 0.2  # the package's defaults
ADAM = {"lr": 2e-4, "betas": (0.5, 0.9), "weight_decay": 1e-6}
WARM = 3  # steps before one is recorded


@dataclass(frozen=True)
class Coded:
    """A table as numbers: `offsets` [n, numbers] of numeric columns within their mode; `codes` [n, numbers + labels]
    the mode of every numeric column, then every label; `sizes` how many modes or labels each of these has."""

    offsets: np.ndarray
    codes: np.ndarray
    sizes: tuple[int, ...]

    @property
    def numbers(self) -> int:
        return self.offsets.shape[1]


class Spans:
    """The one-hot blocks of a row, all of them at once: softmax and log-sum-exp over each block."""

    def __init__(self, sizes: Sequence[int], device: torch.device):
        total, first = sum(sizes), np.cumsum([0, *sizes])[:-1]
        member = np.zeros((total, len(sizes)), np.float32)
        member[np.arange(total), np.repeat(np.arange(len(sizes)), sizes)] = 1
        places = first[:, None] + np.arange(max(sizes))
        places = np.where(np.arange(max(sizes)) < np.array(sizes)[:, None], places, first[:, None])
        self.shape, self.total = places.shape, total
        self.first = torch.as_tensor(first, device=device)
        self.size = torch.as_tensor(np.array(sizes), device=device)
        self.member = torch.as_tensor(member, device=device)
        self.places = torch.as_tensor(places.ravel(), device=device)

    def _padded(self, x: torch.Tensor) -> torch.Tensor:
        """[batch, blocks, widest], a block's first entry where it has no more."""
        return x.index_select(1, self.places).view(len(x), *self.shape)

    def _exp(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        top = self._padded(x.detach()).amax(2)
        return torch.exp(x - top @ self.member.T), top

    def softmax(self, x: torch.Tensor) -> torch.Tensor:
        e, _ = self._exp(x)
        return e / ((e @ self.member) @ self.member.T)

    def logsumexp(self, x: torch.Tensor) -> torch.Tensor:
        e, top = self._exp(x)
        return torch.log(e @ self.member) + top

    def largest(self, x: torch.Tensor) -> torch.Tensor:
        """The number of each block's largest entry [batch, blocks]."""
        found = self._padded(x).argmax(2)
        return torch.where(found < self.size, found, torch.zeros_like(found))


class Rows:
    """The table on the device: rows by number, and rows that have a drawn label (training by sampling)."""

    def __init__(self, table: Coded, device: torch.device):
        self.spans = Spans(table.sizes, device)
        self.offsets = torch.as_tensor(table.offsets.astype(np.float32), device=device)
        self.codes = torch.as_tensor(table.codes.astype(np.int64), device=device) + self.spans.first
        sizes = table.sizes[table.numbers :]
        order, start, count, cumulative = [], [], [], np.full((len(sizes), max(sizes)), 2.0)
        for j, size in enumerate(sizes):
            codes = table.codes[:, table.numbers + j]
            held = np.bincount(codes, minlength=size)
            share = np.log(held + 1) / np.log(held + 1).sum()  # log-frequency, as the package has it by default
            cumulative[j, : size - 1] = np.cumsum(share)[:-1]
            order.append(np.argsort(codes, kind="stable"))
            count.append(np.pad(held, (0, max(sizes) - size)))
            start.append(np.cumsum([0, *count[-1]])[:-1])
        self.order, self.start, self.count, self.cumulative = (
            torch.as_tensor(np.array(a), device=device) for a in (order, start, count, cumulative)
        )
        self.label_first = torch.as_tensor(np.cumsum([0, *sizes])[:-1], device=device)
        self.labels, self.label_columns, self.numbers = sum(sizes), len(sizes), table.numbers
        self.width, self.device = table.numbers + self.spans.total, device

    def condition(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """A label column at random and a label in it: (column, label, one-hot of both)."""
        column = torch.randint(0, self.label_columns, (BATCH,), device=self.device)
        r = torch.rand(BATCH, 1, dtype=torch.float64, device=self.device)
        label = torch.searchsorted(self.cumulative[column], r, right=True)[:, 0]
        hot = torch.zeros(BATCH, self.labels, device=self.device)
        return column, label, hot.scatter_(1, (self.label_first[column] + label)[:, None], 1.0)

    def having(self, column: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        """Rows drawn among those with that label [batch, width]."""
        count = self.count[column, label]
        at = (torch.rand(len(column), dtype=torch.float64, device=self.device) * count).long()
        row = self.order[column, self.start[column, label] + torch.minimum(at, count - 1)]
        hot = torch.zeros(len(row), self.spans.total, device=self.device).scatter_(1, self.codes[row], 1.0)
        return torch.cat([self.offsets[row], hot], 1)


class Model:
    """Generator, critic and their optimisers for one table and seed."""

    def __init__(self, rows: Rows):
        from ctgan.synthesizers.ctgan import Discriminator, Generator

        self.rows, self.device = rows, rows.device
        self.generator = Generator(LATENT + rows.labels, (256, 256), rows.width).to(self.device)
        self.critic = Discriminator(rows.width + rows.labels, (256, 256), pac=PAC).to(self.device)
        self.recorded = self.device.type == "cuda"
        self.weights = list(self.generator.parameters()), list(self.critic.parameters())
        own = {**ADAM, "capturable": self.recorded}
        self.optimisers = [torch.optim.Adam(w, **own) for w in self.weights]  # type: ignore[arg-type]

    def generate(self, hot: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(what the network says, the row made of it: tanh of offsets, Gumbel softmax of every block)."""
        raw = self.generator(torch.cat([torch.randn(len(hot), LATENT, device=self.device), hot], 1))
        offsets, logits = raw[:, : self.rows.numbers], raw[:, self.rows.numbers :]
        gumbel = -torch.empty_like(logits).exponential_().log()
        made = self.rows.spans.softmax((logits + gumbel) / TEMPERATURE)
        return raw, torch.cat([torch.tanh(offsets), made], 1)

    def step(self) -> None:
        """One update of the critic and one of the generator."""
        column, label, hot = self.rows.condition()
        with torch.no_grad():
            _, made = self.generate(hot)
        other = torch.argsort(torch.rand(BATCH, device=self.device))
        real = torch.cat([self.rows.having(column[other], label[other]), hot[other]], 1)
        fake = torch.cat([made, hot], 1).requires_grad_()
        penalty = self.critic.calc_gradient_penalty(real, fake, self.device, PAC)
        self._move(1, self.critic(fake).mean() - self.critic(real).mean() + penalty)
        column, label, hot = self.rows.condition()
        raw, made = self.generate(hot)
        score = self.critic(torch.cat([made, hot], 1)).mean()
        self._move(0, self.missed(raw, column, label) - score)

    def missed(self, raw: torch.Tensor, column: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        """Cross-entropy of the label that was asked for."""
        logits, spans = raw[:, self.rows.numbers :], self.rows.spans
        block = self.rows.numbers + column
        total = spans.logsumexp(logits).gather(1, block[:, None])
        return (total - logits.gather(1, (spans.first[block] + label)[:, None])).mean()

    def _move(self, which: int, loss: torch.Tensor) -> None:
        weights = self.weights[which]
        for weight, slope in zip(weights, torch.autograd.grad(loss, weights)):
            weight.grad = slope
        self.optimisers[which].step()

    def sample(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """(offsets, codes) of `count` rows; batch normalisation goes on by the batch, as in the package."""
        offsets, codes = [], []
        with torch.no_grad():
            for _ in range(count // BATCH + 1):
                _, made = self.generate(self.rows.condition()[2])
                offsets.append(made[:, : self.rows.numbers].cpu().numpy())
                codes.append(self.rows.spans.largest(made[:, self.rows.numbers :]).cpu().numpy())
        return np.concatenate(offsets)[:count], np.concatenate(codes)[:count]


def steps_of(rows: int, epochs: int) -> int:
    return epochs * max(rows // BATCH, 1)


class Training:
    """Steps of several models: each on a stream of its own inside one recorded graph on CUDA, else one by one."""

    def __init__(self, models: Sequence[Model], side_by_side: bool = True):
        self.models, self.done, self.graph = models, 0, None
        if models[0].device.type == "cuda":
            self._record(side_by_side)

    def _record(self, side_by_side: bool) -> None:
        one = torch.cuda.Stream()
        streams = [torch.cuda.Stream() if side_by_side else one for _ in self.models]
        for _, (model, stream) in itertools.product(range(WARM), zip(self.models, streams)):
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                model.step()
        torch.cuda.synchronize()
        self.done, self.graph = WARM, torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=one):
            for model, stream in zip(self.models, streams):
                if side_by_side:
                    stream.wait_stream(one)
                with torch.cuda.stream(stream):
                    model.step()
            for stream in streams if side_by_side else ():
                one.wait_stream(stream)

    def run(self, steps: int) -> None:
        """On to `steps` steps in all."""
        for _ in range(steps - self.done):
            if self.graph is not None:
                self.graph.replay()
            else:
                for model in self.models:
                    model.step()
        self.done = max(self.done, steps)
        if self.graph is not None:
            torch.cuda.synchronize()
