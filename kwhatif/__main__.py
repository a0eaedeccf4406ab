"""``python -m kwhatif``."""

from kwhatif.cli.main import main

if __name__ == "__main__":
    main()
