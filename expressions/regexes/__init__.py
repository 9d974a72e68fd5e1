"""Regular expressions as PostgreSQL has them, found in linear time by RE2.

flags        their options, by letters
translation  from PostgreSQL's advanced expressions to RE2's, and what is refused by name
matching     where one begins and ends in a text
functions    regexp_match and its kin, for one value
similar      SIMILAR TO
"""
