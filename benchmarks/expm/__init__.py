"""Learners of the exponential mechanism beside DP-SGD."""
