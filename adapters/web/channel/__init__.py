"""A team channel in the browser, on a table of ours in place of a platform's API."""
