"""Reading tables: what damaged files do, and how fast whole ones are read."""
