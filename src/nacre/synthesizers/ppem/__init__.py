"""PPEM: energy models that keep p(x*|x') and hide the marginal of x' (specs/ppem.md)."""
