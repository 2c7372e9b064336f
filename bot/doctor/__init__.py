"""`kotae doctor`: checks, each finding with what to do about it."""
