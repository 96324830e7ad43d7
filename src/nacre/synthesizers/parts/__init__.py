"""What several methods share: layouts and codings of rows, heads of networks, groups of cells, conditions."""
