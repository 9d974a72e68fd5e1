"""Wording: pure functions from values to words.

descriptors  a descriptor, and what differs between two versions
job_nodes    names of nodes that are jobs: loaders
glossary     words of a text that the glossary explains
marking      where in a statement a mistake stands
sentence     English of a script, log or SQL error, with the values in it
message      a sentence as a value: template and values
mistakes     an exception as one line for people
numbers      whole numbers as strangers type them
sql_names    names and constants as statements write them
similar      the name that was probably meant
sheets       texts in a CSV file, never formulas
plain_text   text of strangers, made harmless for a terminal
storable     texts that a database takes
"""
