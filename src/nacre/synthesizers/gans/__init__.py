"""Adversarial methods without a promise, one file each on shared parts: for comparison, through `reveal`."""
