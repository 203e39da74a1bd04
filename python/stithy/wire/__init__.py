"""The boundary to the native programs: messages, and starting a program."""
