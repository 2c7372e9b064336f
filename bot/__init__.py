"""The application: a question's life from message to stored outcome, documents, settings, commands."""
