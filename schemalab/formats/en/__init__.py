"""Formats of the language, where Django looks for them.

formats   the form of a time
"""
