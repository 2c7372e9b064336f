"""Whether the Discord app is set up well."""
