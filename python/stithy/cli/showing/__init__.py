"""How every command speaks: to people in words and tables, to programs in JSON, at a bad end."""
