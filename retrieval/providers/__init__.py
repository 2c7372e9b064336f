"""What chat and embedding providers share over HTTP."""
