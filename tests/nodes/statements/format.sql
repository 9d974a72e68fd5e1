SELECT format('Hello %s, %1$s', 'World'), format('%s%%', 5), format('Testing %s, %s, %s, %%', 'one', 'two', 'three'), format('INSERT INTO %I VALUES(%L)', 'Foo bar', E'O\'Reilly'), format('|%10s|', 'foo'), format('|%-10s|', 'foo'), format('Testing %3$s, %2$s, %s', 'one', 'two', 'three'), format('%s', NULL), format('%L', NULL), format('plain'), format('|%5L|', 'a'), format('|%3s|', 'abcdef'), format('|%-3s|', NULL), format('%2$s %s', 1, 2, 3), format('%s', true);
SELECT format('%s %s', 'a');
SELECT format('%d', 1);
SELECT format('abc%', 1);
SELECT format('%0$s', 1);
SELECT format('%s is %s', name, age) FROM people ORDER BY id;
SELECT format('%5s|%-6I', id, name) FROM people ORDER BY id;
