"""What is listened on and what stands before the API and the pages."""
