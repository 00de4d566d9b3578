"""`python -m imprint`, the same as the command."""

from imprint.cli import main

if __name__ == "__main__":
    main()
