"""One value: read by its column and its own type, written as it came."""
