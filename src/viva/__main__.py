"""`python -m viva`."""

from viva.cli.main import main

main()
