"""How every command talks: options heard, words and tables for people, JSON for programs."""
