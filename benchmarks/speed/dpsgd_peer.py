"""One process of `speed-dpsgd` for another package, in an environment that has it.

Batches are of a fixed size and handed over ready: what is timed is gradient, clipping, noise and update, in processor
time or, where the package finds an accelerator, in wall time on that.
"""

from __future__ import annotations

import itertools
from importlib.metadata import version

import numpy as np

from benchmarks.speed.clock import of_steps

BATCH, WIDTHS, STEPS = 256, (108, 256, 256, 1), 4


def opacus(ghost: bool):
    import torch
    from opacus import PrivacyEngine
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = []
    for a, b in itertools.pairwise(WIDTHS):
        layers += [nn.Linear(a, b), nn.ReLU()]
    rng, device = np.random.default_rng(0), "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.tensor(rng.normal(size=(BATCH, WIDTHS[0])), dtype=torch.float32, device=device)
    y = torch.tensor(rng.random((BATCH, 1)) < 0.3, dtype=torch.float32, device=device)
    model = nn.Sequential(*layers[:-1]).to(device)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=BATCH)
    made = PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.Adam(model.parameters(), 1e-3),
        data_loader=loader,
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        poisson_sampling=False,
        **({"criterion": nn.BCEWithLogitsLoss(), "grad_sample_mode": "ghost"} if ghost else {}),
    )
    model, optimiser = made[0], made[1]
    criterion = made[2] if ghost else nn.BCEWithLogitsLoss()

    def run():
        for _ in range(STEPS):
            optimiser.zero_grad()
            criterion(model(x), y).backward()
            optimiser.step()
        if device == "cuda":
            torch.cuda.synchronize()

    return run, device


def jax_privacy(model: str):
    """Clipped gradients and noise of jax-privacy on the losses that nacre's own steps use."""
    import jax
    import optax
    from jax_privacy import clipping, noise_addition

    from benchmarks.speed import dpsgd_step

    batched, params, records = dpsgd_step.made(model)
    records = jax.device_put({name: values[:BATCH] for name, values in records.items()})

    def loss(params, record):
        one = jax.tree.map(lambda x: x[None], record)
        return batched(params, dpsgd_step.Tape(1), one, None, None)[0]

    few = 32 if jax.default_backend() == "cpu" else None  # on a processor, all records at once take fifty times as long
    gradient = clipping.clipped_grad(
        loss, batch_argnums=1, l2_clip_norm=1.0, normalize_by=BATCH, keep_batch_dim=False, microbatch_size=few
    )
    noise = noise_addition.gaussian_privatizer(stddev=1.0 / BATCH, prng_key=jax.random.key(0))
    optimiser = optax.chain(noise, optax.adabelief(1e-3))

    @jax.jit
    def step(params, own):
        moves, own = optimiser.update(gradient(params, records), own, params)
        return optax.apply_updates(params, moves), own

    own = optimiser.init(params)

    def run():
        state = params, own
        for _ in range(STEPS):
            state = step(*state)
        jax.block_until_ready(state)

    return run, jax.default_backend()


def step(method: str, model: str, repeats: int, records: int) -> dict[str, object]:
    if records != BATCH:
        raise ValueError(f"peers are timed with {BATCH} records a step, not {records}")
    run, device = jax_privacy(model) if method == "jax-privacy" else opacus(method == "opacus-ghost")
    figures = of_steps(run, STEPS, repeats, wall=device != "cpu")
    return {**figures, "version": version(method.partition("-ghost")[0])}
