"""The database: a module a table, and the only room with SQL."""
