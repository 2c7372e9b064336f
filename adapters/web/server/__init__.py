"""The listening sockets and the guard before the API and the pages."""
