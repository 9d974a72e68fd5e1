"""Formats of Chinese, where Django looks for them: formats."""
