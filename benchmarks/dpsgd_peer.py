"""One process of `speed-dpsgd` for another package, in an environment that has it: the same MLP and batch.

Batches are of a fixed size and handed over ready: what is timed is gradient, clipping, noise and update.
"""

from __future__ import annotations

import itertools
import json
import resource
import sys
import time

import numpy as np

BATCH, WIDTHS, STEPS = 256, (108, 256, 256, 1), 5


def opacus(ghost: bool):
    import torch
    from opacus import PrivacyEngine
    from torch import nn

    torch.manual_seed(0)
    layers = []
    for a, b in itertools.pairwise(WIDTHS):
        layers += [nn.Linear(a, b), nn.ReLU()]
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.normal(size=(BATCH, WIDTHS[0])), dtype=torch.float32)
    y = torch.tensor(rng.random((BATCH, 1)) < 0.3, dtype=torch.float32)
    model = nn.Sequential(*layers[:-1])
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

    return run


def jax_privacy():
    import jax
    import jax.numpy as jnp
    import optax
    from jax_privacy import clipping, noise_addition

    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(BATCH, WIDTHS[0])), jnp.float32)
    y = jnp.asarray(rng.random(BATCH) < 0.3)
    params = [
        (jnp.asarray(rng.normal(size=(a, b)) * (2 / a) ** 0.5, jnp.float32), jnp.zeros(b))
        for a, b in itertools.pairwise(WIDTHS)
    ]

    def loss(params, x, y):
        for i, (w, b) in enumerate(params):
            x = x @ w + b
            x = jax.nn.relu(x) if i < len(params) - 1 else x
        return jax.nn.softplus(jnp.where(y, -x[0], x[0]))

    gradient = clipping.clipped_grad(
        loss, batch_argnums=(1, 2), l2_clip_norm=1.0, normalize_by=BATCH, keep_batch_dim=False
    )
    noise = noise_addition.gaussian_privatizer(stddev=1.0 / BATCH, prng_key=jax.random.key(0))
    optimiser = optax.chain(noise, optax.adabelief(1e-3))

    @jax.jit
    def step(params, own):
        moves, own = optimiser.update(gradient(params, x, y), own, params)
        return optax.apply_updates(params, moves), own

    own = optimiser.init(params)

    def run():
        state = params, own
        for _ in range(STEPS):
            state = step(*state)
        jax.block_until_ready(state)

    return run


def main(method: str, repeats: int) -> None:
    run = jax_privacy() if method == "jax-privacy" else opacus(method == "opacus-ghost")
    run()
    took = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        took.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"step_ms": 1e3 * min(took) / STEPS, "peak_mb": peak}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[3]))
