"""Chat models, a file a provider, and what makes them patient and thrifty."""
