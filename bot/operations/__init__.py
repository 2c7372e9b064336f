"""Operations that keep a home well: backup, restore, retention, metrics, evaluation."""
