"""Regular expressions as PostgreSQL has them, found in linear time by RE2.

flags        their options, by letters
translation  from PostgreSQL's advanced expressions to RE2's, and what is refused by name
pieces       the parts of one that is translated
groups       where its groups are, between the ends of a match
matching     where one begins and ends in a text
functions    regexp_match and its kin, for one value
similar      SIMILAR TO
"""
