"""`python -m bot` is the `kotae` command."""

from bot.cli import main

main()
