"""`python -m bot` is the `kotae` command."""

from bot.cli.commands import main

main()
