-- dates and times read by patterns
SELECT to_date('05 Dec 2000', 'DD Mon YYYY'), to_date('2024-02-29', 'YYYY-MM-DD'), to_date('20240229', 'YYYYMMDD'), to_date('3/7/24', 'MM/DD/YY'), to_date('2024-060', 'YYYY-DDD'), to_date('2024-W09-4', 'IYYY-"W"IW-ID'), to_date('29.II.2024', 'DD.RM.YYYY'), to_date('2,024-02', 'Y,YYY-MM'), to_date('2460370', 'J'), to_date('  2024  February  3', 'YYYY Month DD'), to_date('21 24', 'CC YY'), to_date(NULL, 'YYYY'), to_date('2024', 'YYYY'), to_date('1st of March, 2024', 'FMDDth "of" FMMonth, YYYY');
SELECT to_timestamp('2024-02-29 13:04:05.678', 'YYYY-MM-DD HH24:MI:SS.MS'), to_timestamp('05 Dec 2000 01:30 pm', 'DD Mon YYYY HH12:MI am'), to_timestamp('20240229130405', 'YYYYMMDDHH24MISS'), to_timestamp('2024-02-29 3600', 'YYYY-MM-DD SSSSS'), to_timestamp('2024 12.5', 'YYYY SS.FF1'), to_timestamp(1284352323.5), to_timestamp(0), pg_typeof(to_timestamp('2024', 'YYYY')) FROM people WHERE id = 1;
SELECT to_date('2024-02-30', 'YYYY-MM-DD');
SELECT to_date('2024-13-01', 'YYYY-MM-DD');
SELECT to_date('x', 'YYYY');
SELECT to_date('2024 1', 'YYYY IW');
SELECT to_date('60', 'DDD');
SELECT to_timestamp('2024 13:00', 'YYYY HH12:MI');
SELECT to_timestamp('2024 25:00', 'YYYY HH24:MI');
SELECT to_date('2024 1', 'YYYY MMDD');
SELECT to_date('99999999999 1', 'YYYY MM');
SELECT to_date('Frx', 'Month');
SELECT id, to_date(born::text, 'YYYY-MM-DD') = born, to_timestamp(to_char(seen, 'YYYYMMDD HH24MISS US'), 'YYYYMMDD HH24MISS US') = seen FROM people ORDER BY id;
-- intervals, and patterns of any kind
SELECT to_char(INTERVAL '25:00:01.5', 'HH24:MI:SS.MS'), to_char(INTERVAL '2 years 3 months 4 days 5:06:07', 'YYYY-MM-DD HH12:MI:SS AM'), to_char(INTERVAL '-1 day -02:03', 'DD HH24:MI'), to_char(INTERVAL '15h 2m 12s', 'FMHH24 "hours" FMMI'), to_char(INTERVAL '400 days', 'DDD Q WW');
SELECT to_char(INTERVAL '1 day', 'Month');
SELECT to_char(TIMESTAMP '2024-02-29 13:04:05.678', 'J RM rm FMRM BC Y,YYY'), to_char(TIMESTAMP '2024-02-29 13:04:05.678', 'TMMonth TMDay FF3 FF1 a.m. SSSS IDDD IYY'), to_char(DATE '2024-03-01', 'Dd "a\"b" \"c'), to_char(DATE '2024-03-02', 'DDth Mon, FMDDTH');
SELECT id, to_char(born, CASE WHEN id < 3 THEN 'DD.MM.YYYY' ELSE 'FMMonth J' END), to_char(seen, name) FROM people ORDER BY id;
