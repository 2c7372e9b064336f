"""Parts that chat and embedding providers share over HTTP."""
