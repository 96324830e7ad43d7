"""Pages for the owner of the data. They hold unprotected statistics and never travel inside a release."""
