"""Values of columns: their types, how each is written as text, and the bytes that sort as it does. Pure.

types           the SQL types, and their texts
errors          errors of values, with PostgreSQL's codes
floats          texts of numbers with a floating point
numerics        numbers of any number of digits: texts, and bytes that sort
documents       json and jsonb: checked, in one form, compared
arrays          arrays as texts
bytea           strings of bytes: texts, and bytes that sort and end
times           times of day: texts, and microseconds
intervals       months, days and microseconds: texts, and bytes that sort
interval_texts    their input forms
interval_styles   their texts by IntervalStyle
date_fields     a text of a date, time or interval cut into fields
packed          types that Arrow has nothing of its own for
"""
