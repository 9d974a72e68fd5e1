-- one match: the longest one that begins first
SELECT regexp_match('foobarbequebaz', 'bar.*que'), regexp_match('foobarbequebaz', '(bar)(beque)'), regexp_match('abc', 'x'), regexp_match('ab', '(a)(x)?'), regexp_match('foobarbequebaz', 'ba.|barbeque'), regexp_match('ABC', 'b', 'i'), regexp_match(NULL, 'a'), (regexp_match('k=v', '(\w+)=(\w+)'))[2];
SELECT regexp_match('abc', 'b', 'g');
SELECT regexp_match('abc', 'b', 'z');
SELECT regexp_match('abc', '(');
SELECT regexp_match('abc', 'a{300}'), regexp_match('abc', 'a**');
SELECT regexp_match('XY1234Z', 'Y*([0-9]{1,3})'), regexp_match('XY1234Z', 'Y*?([0-9]{1,3})'), regexp_match('abc01234xyz', '(.*)(\d+)(.*)'), regexp_match('abc01234xyz', '(.*?)(\d+)(.*)'), regexp_match('abc01234xyz', '(?:(.*?)(\d+)(.*)){1,1}');
SELECT regexp_like('abc', 'B', 'i'), regexp_like(E'a\nb', 'a.b'), regexp_like(E'a\nb', 'a.b', 'n'), regexp_like(E'a\nb', '^b', 'm'), regexp_like('a.b', 'a.b', 'q'), regexp_like('axb', 'a.b', 'q'), regexp_like('ab', 'a b # both', 'x'), 'ab' ~ '(?x)a b', 'a.c' ~ '***=a.c', 'abc' ~ '***=a.c';
SELECT regexp_like('abc', 'b', 'g');
SELECT substring('foobar' from 'o.b'), substring('foobar' from 'o(.)b'), substring('foobar' from 'x'), substring('foobar', '(o)(b)'), substring('ab' from '(a)|(b)'), substring('b' from '(a)|(b)'), substring('foobar', 'a.*$'), substring(name from '^.(.)'), substring(name from 2 for 1) FROM people ORDER BY id;
-- escapes, classes, edges of words
SELECT 'a b' ~ 'a\sb', 'ab' ~ '^\w+$', 'a-b' ~ '\W', '7' ~ '^\d$', E'a\bc' ~ 'a\bc', 'a\c' ~ 'a\Bc', 'foo bar' ~ '\mbar\M', 'foobar' ~ '\mbar', 'foo bar' ~ '[[:<:]]foo[[:>:]]', 'foo bar' ~ '\yoo', E'a\n' ~ 'a$', E'a\n' ~ 'a\Z', 'aé' ~ '\u00e9$', 'A' ~ '\x41', 'S' ~ '\123';
SELECT 'a]b' ~ '[]]', 'a-b' ~ '[b-]a|-', 'x' ~ '[^]x]', 'a' ~ '[[:alpha:]]', 'é' ~ '[[:alpha:]]', 'a' ~ '[[.a.]]', 'a' ~ '[[=a=]]', 'tab' ~ '[[:blank:]]', 'a{' ~ 'a{', 'a{,2}' ~ 'a{,2}', 'x' !~ '[\w]', 'aBc' ~* '^ABC$', 'aBc' !~* 'x';
SELECT 'a' ~ '[[:letter:]]';
SELECT 'a' ~ '[b-a]';
SELECT 'a' ~ 'a{2,1}';
SELECT 'a' ~ 'a)';
SELECT 'a' ~ '\q';
SELECT 'a' ~ '*a';
SELECT 'a' ~ '^*';
SELECT 'a' ~ '[a';
SELECT name ~ 'n.*a|^b', name ~ (left(name, 1) || '+'), name !~* 'ANN', name ~ NULL FROM people ORDER BY id;
-- all matches
SELECT regexp_matches('foobarbequebazilbarfbonk', '(b[^b]+)(b[^b]+)', 'g');
SELECT regexp_matches('foobarbequebaz', '(bar)(beque)'), regexp_matches('abc', 'x') FROM people WHERE id = 1;
SELECT m, m[1] FROM regexp_matches('a1b22', '[0-9]+', 'g') AS m;
SELECT p.id, m[1] FROM people AS p, regexp_matches(p.name, '[a-m]', 'gi') WITH ORDINALITY AS t(m, n) ORDER BY p.id, n;
SELECT regexp_count('abcabc', 'b'), regexp_count('123456789012', '\d\d\d', 3), regexp_count('ABCABC', 'b', 1, 'i'), regexp_count('abc', ''), regexp_count('abc', 'b*'), regexp_count('', 'x'), regexp_count('abc', 'c', 9);
SELECT regexp_count('abc', 'b', 0);
SELECT regexp_instr('abcabc', 'c'), regexp_instr('abcabc', 'c', 4), regexp_instr('abcabc', 'c', 1, 2), regexp_instr('abcabc', 'b(.)', 1, 1, 1), regexp_instr('abcabc', 'B(.)', 1, 2, 0, 'i', 1), regexp_instr('abc', 'x'), regexp_instr('abc', '(x)?c', 1, 1, 0, '', 1), regexp_instr('éé1', '\d'), regexp_instr('abc', 'b', 1, 1, 0, '', 1), regexp_instr('abc', 'b', 1, 1, 0, '', 2);
SELECT regexp_instr('abc', 'b', 1, 0);
SELECT regexp_instr('abc', 'b', 1, 1, 2);
SELECT regexp_substr('foobar', 'o.'), regexp_substr('foobar', 'x'), regexp_substr('number of your street, town zip, FR', '[^,]+', 1, 2), regexp_substr('ABCDEFGHI', '(c)(.*)(f)', 1, 1, 'i', 2), regexp_substr('abc', 'b', 3), regexp_substr('abcabc', 'a.', 2);
SELECT regexp_substr('abc', 'b', 1, 1, 'g');
SELECT regexp_replace('foobarbaz', 'b..', 'X'), regexp_replace('foobarbaz', 'b..', 'X', 'g'), regexp_replace('foobarbaz', 'b(..)', 'X\1Y', 'g'), regexp_replace('a', 'a', '\\ \& \x \'), regexp_replace('abc', 'b*', '-', 'g'), regexp_replace('ab', '(a)(x)?', '[\2\1\9]'), regexp_replace('A PostgreSQL function', 'a|e|i|o|u', 'X', 1, 0, 'i'), regexp_replace('A PostgreSQL function', 'a|e|i|o|u', 'X', 1, 3, 'i'), regexp_replace('aaa', 'a', 'b', 2), regexp_replace('aaa', 'a', 'b', 2, 2), regexp_replace('foobarbequebaz', 'ba.|barbeque', '-'), regexp_replace('  a  b ', '\s+', ' ', 'g');
SELECT regexp_replace('a', 'a', 'b', '1');
SELECT regexp_replace('a', 'a', 'b', -1);
SELECT regexp_replace(name, '(.)(.)', '\2\1'), regexp_replace(name, '[aeiou]', '', 'gi') FROM people ORDER BY id;
SELECT regexp_split_to_array('a b  c', '\s+'), regexp_split_to_array('', ','), regexp_split_to_array('the quick', '\s*'), regexp_split_to_array('aXbxc', 'x', 'i'), regexp_split_to_array(',a,', ',');
SELECT regexp_split_to_array('abc', 'b', 'g');
SELECT * FROM regexp_split_to_table('a, b', ',\s*') s;
SELECT regexp_split_to_table(name, 'n', 'i') FROM people WHERE id = 1;
-- SIMILAR TO
SELECT 'abc' SIMILAR TO 'abc', 'abc' SIMILAR TO 'a', 'abc' SIMILAR TO '%(b|d)%', 'abc' SIMILAR TO '(b|c)%', 'a.c' SIMILAR TO 'a.c', 'abc' SIMILAR TO 'a.c', 'abc' NOT SIMILAR TO '_b_', 'a%c' SIMILAR TO 'a#%c' ESCAPE '#', 'abc' SIMILAR TO 'a[a-c]+', 'a^' SIMILAR TO 'a^', 'aa' SIMILAR TO 'a{2}', 'abc' SIMILAR TO NULL, '12' SIMILAR TO '\d+', E'a\nb' SIMILAR TO 'a_b', 'a]' SIMILAR TO 'a[]]', 'ab' SIMILAR TO '(a)(b)';
SELECT 'abc' SIMILAR TO 'a' ESCAPE 'xy';
SELECT id FROM people WHERE name SIMILAR TO '(a|b)%' ORDER BY id;
-- groups as PostgreSQL lays them out
SELECT regexp_match('aaa', '(a|aa)(a|aa)?'), regexp_match('abcd', '(a|ab)(c|bcd)(d*)'), regexp_match('ab', 'a(x*)?b'), regexp_match('xaby', '(.*?)(a|ab)(.*)'), regexp_replace('abcd', '(a|ab)(c|bcd)', '[\1|\2]'), regexp_substr('abcd', '(a|ab)(c|bcd)', 1, 1, '', 1);
-- rules of a table
CREATE TEMP TABLE addresses (id int PRIMARY KEY, email text CHECK (email ~ '^[^@\s]+@[^@\s]+$'), code text CHECK (code SIMILAR TO '[A-Z]{2}[0-9]+'), amount text DEFAULT to_char(5, 'FM000'));
INSERT INTO addresses VALUES (1, 'a@b', 'AB12') RETURNING *;
INSERT INTO addresses VALUES (2, 'a@b@c', 'AB12');
INSERT INTO addresses VALUES (3, NULL, 'A12');
INSERT INTO addresses VALUES (4, regexp_replace('x y@z', '\s', '', 'g'), (regexp_match('-QQ7-', '\w+'))[1]) RETURNING *;
UPDATE addresses SET email = regexp_replace(email, '@.*', '') RETURNING *;
