"""How each kind of file becomes Markdown. Everything here reads untrusted bytes and runs in the parsing child."""
