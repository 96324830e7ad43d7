"""Units that own rows of several tables: views over their rows, and the passes that count them."""
