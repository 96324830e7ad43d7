"""The sketch on two tables, and what its planner foretells."""
