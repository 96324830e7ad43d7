"""How tables are read: rows that change how other rows are read, damaged files, and how fast whole ones are read."""
