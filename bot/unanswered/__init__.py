"""Questions nobody could answer yet: grouped, shown in the digest, answered by experts."""
