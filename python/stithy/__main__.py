"""`python -m stithy` is `stithy`."""

from stithy.cli.app import run_main

if __name__ == "__main__":
    run_main()
