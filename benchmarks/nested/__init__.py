"""Units with histories: exact tables to hold noisy ones against, and how long many rows take."""
