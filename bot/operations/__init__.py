"""What keeps a home well: backup, restore, retention, metrics, evaluation."""
