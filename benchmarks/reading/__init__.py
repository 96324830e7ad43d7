"""How tables are read: the search for rows that change how other rows are read, and hostile files."""
