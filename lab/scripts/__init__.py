"""Golden scripts: one command a line, each a sentence about a cluster, with what it showed below.

golden              a script, run and compared
commands            the language
commands_of/        its sentences, by what they are about
hand_made_versions  versions that a script publishes by hand
text                rows and pairs as words
"""
