"""Parts of a file that its readers see and its text only implies, written out before it is converted."""
