"""The `kotae` command: what it is called with, what it opens and what it prints."""


def main() -> None:
    """Run the command line; it is loaded here, so that its parts can be imported alone."""
    try:
        from bot.cli.commands import main as run

        run()
    except KeyboardInterrupt:  # while it is loaded; afterwards bot/cli/help.py sees to it
        raise SystemExit(130) from None
