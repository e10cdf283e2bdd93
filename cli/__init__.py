"""Command line: ``raterzoo --help``."""

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    from .commands import app

    app(prog_name="raterzoo")
