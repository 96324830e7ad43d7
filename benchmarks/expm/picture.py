"""Two parameters, 200 rows: the exact density of the exponential mechanism, two flows, and draws repaired by a chain.

The variance of a flow's draws over the exact variance (by quadrature) shows over-precision; the same figure of the
chain's draws shows the repair. Writes docs/methods/expm_two_parameters.svg.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.catalogue import Options
from benchmarks.places import PICTURES
from benchmarks.results import Results, Setting
from nacre.learners import flow as flows
from nacre.learners.exponential import smooth_utility
from nacre.learners.flow_chain import FlowProposals, accepted_places

PICTURE = PICTURES / "expm_two_parameters.svg"
EPSILON, TAU, ROWS = 1.0, 3.0, 200
SIDE, PIXELS = 26, 260
LOW, HIGH = np.array([-0.5, -1.5]), np.array([7.5, 2.2])  # of the picture: weight, bias


def rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, ROWS)
    return x, (3 * x + 0.5 + rng.logistic(size=ROWS) > 0).astype(float)


def exact(x: np.ndarray, y: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The density at points [m, 2] up to a constant, by its formula."""
    yhat = 1 / (1 + np.exp(-(points[:, :1] * x + points[:, 1:])))
    log_p = -EPSILON / 2 * np.square(yhat - y).sum(axis=1) - 0.5 * np.square(points / TAU).sum(axis=1)
    return np.exp(log_p - log_p.max())


def square(low: np.ndarray, high: np.ndarray, side: int) -> np.ndarray:
    axes = [np.linspace(a, b, side + 1)[:-1] + (b - a) / side / 2 for a, b in zip(low, high)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)


ONLY: tuple[str, ...] = ()


def run(options: Options, results: Results) -> None:
    steps = 60 if options.quick else 1000
    shapes = {
        "expm-nf-paper": flows.FlowShape("planar", 10, affine=False, sd=0.5, draws=128, batch=ROWS, steps=steps),
        "expm-nf": flows.FlowShape(layers=4, rank=2, draws=128, batch=ROWS, steps=steps),
    }
    for seed in range(0 if options.nothing else options.seeds):
        x, y = rows(seed)
        wide = square(np.full(2, -5 * TAU), np.full(2, 5 * TAU), 400)
        law = exact(x, y, wide)
        law /= law.sum()
        variance = law @ np.square(wide - law @ wide)
        target = flows.Target(smooth_utility(1, 2).per_record, EPSILON / 2, TAU)
        columns = jnp.asarray(np.stack([x, y]), jnp.float32)
        shown = {}
        for method, shape in shapes.items():
            flow = flows.train(shape, 2, target, columns, jax.random.key(seed))
            theta, log_q = flows.draw(flow, shape, 2, 20_000, jax.random.key(seed + 1000))
            log_w = np.asarray(jax.jit(target.log_density)(theta, columns) - log_q, np.float64)
            ratio = float((np.asarray(theta).var(axis=0) / variance).min())
            found = {"variance_ratio": ratio, "ess_share": flows.fit_of_weights(log_w)["ess_share"]}
            results.add(Setting(method, "two-parameters", EPSILON), seed, found)
            shown[method] = np.asarray(theta)
            if method == "expm-nf-paper":
                states, accepted = repaired(flow, shape, target, columns, seed)
                ratio = float((states.var(axis=0) / variance).min())
                setting = Setting("expm-mh", "two-parameters", EPSILON, None, "conditional")
                results.add(setting, seed, {"variance_ratio": ratio, "accepted": accepted})
                shown["expm-mh"] = states
        results.write()
        if seed == 0 and not options.quick:
            PICTURE.write_text(picture(exact(x, y, square(LOW, HIGH, SIDE)), shown))


def repaired(flow, shape, target, columns, seed: int) -> tuple[np.ndarray, float]:
    """States 201 to 600 of 200 chains that take the narrow flow as their proposal."""
    sampler = FlowProposals(2, TAU, shape)
    theta, log_w = sampler.proposals(flow, target, columns, 120_000, jax.random.key(seed + 2000))
    kept, moved = accepted_places(log_w.reshape(200, 600), np.random.default_rng(seed))
    states = theta.reshape(200, 600, 2)[np.arange(200)[:, None], kept[:, 200:]]
    return states.reshape(-1, 2), float(moved.mean())


def picture(density: np.ndarray, draws: dict[str, np.ndarray]) -> str:
    """Four panels: the exact density, histograms of both flows with their guarantee, and of the chain's states."""
    panels = [("exact density", density)]
    for name in ("expm-nf-paper", "expm-nf"):
        panels.append((f"{name}: {flows.LABEL}", histogram(draws[name])))
    panels.append(("expm-mh: repaired draws", histogram(draws["expm-mh"])))
    parts = [panel(i * (PIXELS + 20), title, values) for i, (title, values) in enumerate(panels)]
    width = len(panels) * (PIXELS + 20)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {PIXELS + 60}" font-family="sans-serif">'
    title = "<title>Exact density, flow draws and repaired draws of two parameters</title>"
    return "\n".join([head, title, *parts, "</svg>"]) + "\n"


def histogram(draws: np.ndarray) -> np.ndarray:
    edges = [np.linspace(a, b, SIDE + 1) for a, b in zip(LOW, HIGH)]
    return np.histogram2d(draws[:, 0], draws[:, 1], bins=edges)[0].ravel()


def panel(left: int, title: str, values: np.ndarray) -> str:
    cell = PIXELS / SIDE
    shade = (values / values.max()).reshape(SIDE, SIDE)
    parts = [f'<text x="{left}" y="16" font-size="14">{title}</text>']
    for i, j in zip(*np.nonzero(shade > 0.02)):
        place = (
            f'x="{left + i * cell:.1f}" y="{26 + PIXELS - (j + 1) * cell:.1f}" width="{cell:.1f}" height="{cell:.1f}"'
        )
        parts.append(f'<rect {place} fill="#1f5fa8" fill-opacity="{shade[i, j]:.2f}"/>')
    parts.append(f'<rect x="{left}" y="26" width="{PIXELS}" height="{PIXELS}" fill="none" stroke="#888"/>')
    parts.append(f'<text x="{left}" y="{PIXELS + 44}" font-size="12">weight {LOW[0]} to {HIGH[0]}, bias up</text>')
    return "\n".join(parts)
