"""Formats of English, where Django looks for them: formats."""
