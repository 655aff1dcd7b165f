"""The command `hero`: thin, it reads, asks the library and renders."""
