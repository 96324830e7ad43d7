"""Tables of many shapes, ours and other packages: k-way tables, NIST's score, and the board of all of them."""
