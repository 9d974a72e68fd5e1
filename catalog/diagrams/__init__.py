"""Pictures that any page may draw, as SVG text without a style attribute.

sequence   a sequence diagram: who did what to whom, one line after the other
lettering  letters, and lines of a width in English and Chinese
"""
