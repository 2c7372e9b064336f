"""`kotae setup`: questions in the terminal, answers in `.env`."""
