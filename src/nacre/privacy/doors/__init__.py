"""The doors and what is bought through them."""
