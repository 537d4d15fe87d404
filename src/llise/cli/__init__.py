"""The command line: one file a command, options shared by all."""
