"""Mixtures of products, fitted to noisy tables: model, loss, fit, denoising and drawing."""
