"""The page of the documents and their collections."""
