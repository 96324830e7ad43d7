"""Other packages, run in environments of their own on the same rows; see README.md beside this file."""
