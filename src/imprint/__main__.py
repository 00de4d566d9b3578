"""Entry point for `python -m imprint`, equivalent to the `imprint` command."""

from imprint.cli import main

if __name__ == "__main__":
    main()
