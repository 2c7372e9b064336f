"""Sources that documents follow: folders, git repositories and websites."""
