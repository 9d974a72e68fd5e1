"""Prints the page of rules left out."""

from tests.lab.mutations.page import write_page

print(write_page(), end="")
