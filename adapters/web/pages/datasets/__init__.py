"""The page on which datasets are added."""
