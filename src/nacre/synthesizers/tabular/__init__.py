"""What the adversarial methods share: mixed rows as vectors and back, and models that draw by networks."""
