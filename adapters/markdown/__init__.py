"""Events as Markdown in the words of every platform, and Markdown cut into messages."""
