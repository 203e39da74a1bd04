"""`python -m stithy` is `stithy`."""

from stithy.cli.app import main

if __name__ == "__main__":
    main()
