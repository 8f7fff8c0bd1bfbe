"""``python -m daemon`` is the command ``asagoe``."""

from daemon.cli import main

if __name__ == "__main__":
    main()
