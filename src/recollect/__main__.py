"""`python -m recollect`: the command line, where no script is on the path."""

from recollect.shells.cli import main

main()
