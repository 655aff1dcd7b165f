"""HERO inside other tools: tests, trackers, evaluation logs, assistants. Each file needs the tool it is named after."""
