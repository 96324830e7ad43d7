"""DP-HFlow: a normalizing flow for mixed tables, trained by DP-SGD (specs/dphflow.md).

`method` is our form, `paper` the published one; both are the same code with different settings.
"""
