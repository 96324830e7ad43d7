"""`python -m nacre` is the program `nacre`."""

from nacre.cli import main

if __name__ == "__main__":
    main()
