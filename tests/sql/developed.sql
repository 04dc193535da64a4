-- SPDX-License-Identifier: MIT
-- CREATE VIRTUAL TABLE temp.t USING imgpar(SELECT ...): deferred inside, finished at its edge.
CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, img BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
  INSERT INTO t SELECT i, 'n' || i, apply('cast(make(16, 12, 3 * x + y + ' || i || '), u8)') FROM n;
CREATE VIRTUAL TABLE temp.soft USING imgpar(
  SELECT id, name, blend(blur(img, 2), img_invert(img), 0.3) AS img, blur(img, 1) AS second, img_mean(img) AS mean, img AS plain FROM t);
CREATE TEMP TABLE before AS SELECT * FROM img_counters;
CREATE TEMP VIEW done AS SELECT group_concat(name || ' ' || (c.value - b.value), ', ') AS done
  FROM img_counters c JOIN before b USING (name) WHERE name IN ('evaluations', 'decodes', 'encodes');

.print finished images, equal to those of nested calls
SELECT count(*), sum(img_format(s.img) = 'png'), sum(raw(s.img) = raw(blend(blur(lazy(t.img), 2), img_invert(t.img), 0.3))),
       sum(hex(raw(s.img)) = hex(raw(blend(blur(t.img, 2), img_invert(t.img), 0.3)))), sum(s.plain = t.img) FROM soft s JOIN t USING (id);

.print ORDER BY and LIMIT go in: three of a hundred are computed
DELETE FROM before; INSERT INTO before SELECT * FROM img_counters;
SELECT id, img_format(img) FROM soft ORDER BY id DESC LIMIT 3;
SELECT * FROM done;
DELETE FROM before; INSERT INTO before SELECT * FROM img_counters;
SELECT id, img_format(img) FROM soft WHERE id > 50 AND id <= 90 ORDER BY id LIMIT 2 OFFSET 1;
SELECT * FROM done;
DELETE FROM before; INSERT INTO before SELECT * FROM img_counters;
SELECT id, img_format(img) FROM soft WHERE id = 7;
SELECT * FROM done;

.print only the columns that are asked for
DELETE FROM before; INSERT INTO before SELECT * FROM img_counters;
SELECT count(name), max(length(plain)) > 0 FROM soft;
SELECT * FROM done;

.print rows that SQLite passes by are not developed, whatever the condition
DELETE FROM before; INSERT INTO before SELECT * FROM img_counters;
SELECT id, img_format(img) FROM soft WHERE id % 40 = 0 AND length(name) = 3;
SELECT count(CASE WHEN id < 0 THEN img END) FROM soft;
SELECT * FROM done;
DELETE FROM before; INSERT INTO before SELECT * FROM img_counters;
SELECT id, img_format(img) FROM soft WHERE name LIKE '%9_' AND name GLOB '*[3-7]';
SELECT * FROM done;

.print several outputs of one source in one pass
DELETE FROM before; INSERT INTO before SELECT * FROM img_counters;
SELECT img_format(img), img_format(second) FROM soft WHERE id = 9;
SELECT * FROM done;

.print a nested pipeline over 100 rows costs 100 runs and 100 encodes
DELETE FROM before; INSERT INTO before SELECT * FROM img_counters;
SELECT count(img) FROM soft;
SELECT * FROM done;

.print sinks at the edge are finished by the crew: one run and one encode a row, and only where they are asked for
CREATE VIRTUAL TABLE temp.sunk USING imgpar(
  WITH few AS (SELECT * FROM t WHERE id <= 10) -- jpeg(
  SELECT few.*, jpeg(blur(img, 2), 50 + id /* , */) AS "small one", png(img_invert(img), 'level=1') p, npy(blur(lazy(img), 1)),
         jpeg(NULL) AS no_image, jpeg(img, NULL) AS no_quality, length(jpeg(img, 50)) AS size FROM few);
DELETE FROM before; INSERT INTO before SELECT * FROM img_counters;
SELECT count("small one"), count(no_image), count(no_quality) FROM sunk;
SELECT * FROM done;
SELECT count(*), sum(s."small one" = jpeg(blur(lazy(t.img), 2), 50 + t.id)), sum(p = png(img_invert(lazy(t.img)), 'level=1')),
       sum("npy(blur(lazy(img), 1))" = npy(blur(lazy(t.img), 1))), sum(size = length(jpeg(t.img, 50))) FROM sunk s JOIN t USING (id);
SELECT group_concat(id) FROM sunk WHERE "small one" IN (SELECT jpeg(blur(lazy(img), 2), 50 + id) FROM t WHERE id BETWEEN 4 AND 5);
SELECT count(DISTINCT img_format("small one")), max(img_format("small one")) FROM (SELECT * FROM sunk ORDER BY "small one" LIMIT 4);
.print and sinks whose bytes the SELECT itself sees are finished there
CREATE VIRTUAL TABLE temp.seen USING imgpar(SELECT id, jpeg(img, 50) AS j, png(img) AS p FROM t WHERE length(j) = length(jpeg(t.img, 50)) AND id < 4 ORDER BY 3 LIMIT 2);
SELECT count(*), sum(j = jpeg(img, 50)), sum(p = png(img)) FROM seen JOIN t USING (id);
CREATE VIRTUAL TABLE temp.once USING imgpar(SELECT DISTINCT jpeg(i) AS j FROM (SELECT img AS i FROM t WHERE id = 1 UNION ALL SELECT png(img) FROM t WHERE id = 1));
SELECT count(*), min(img_format(j)) FROM once;
CREATE VIRTUAL TABLE temp.both_ways USING imgpar(SELECT png(img) AS j FROM t WHERE id = 1 UNION ALL SELECT 'text');
SELECT count(*), typeof(max(j)), min(j) FROM both_ways;
CREATE VIRTUAL TABLE temp.on_seen USING imgpar(SELECT length("small one") AS n, jpeg(blur("small one", 1), 60) AS j FROM sunk WHERE id = 3);
SELECT n = length(jpeg(blur(lazy(img), 2), 53)), j = jpeg(blur(lazy(jpeg(blur(lazy(img), 2), 53)), 1), 60) FROM on_seen, t WHERE id = 3;

.print conditions of all kinds
SELECT group_concat(id) FROM soft WHERE id BETWEEN 3 AND 6;
SELECT group_concat(id) FROM soft WHERE name IN ('n3', 'n4', 'n5') AND name IS NOT 'n4';
SELECT group_concat(id) FROM soft WHERE mean > 120 AND mean < 122;
SELECT group_concat(id) FROM soft WHERE name LIKE 'n1_' AND name > 'n15';
SELECT group_concat(id) FROM soft WHERE img IS NULL OR id = '5';
SELECT group_concat(id) FROM soft WHERE id < 4 OR name = 'n2' OR (name > 'n98' AND name < 'n99');
SELECT count(*), sum(id) FROM (SELECT id, img FROM soft WHERE id = 3 OR name = 'n5' OR name = 'n3');
CREATE VIRTUAL TABLE temp.twice USING imgpar(SELECT id, blur(img, 1) AS img FROM t, (SELECT 1 UNION ALL SELECT 2) WHERE id < 10);
SELECT group_concat(id) FROM (SELECT id, img FROM twice WHERE id < 3 OR id = '2' OR id > 8);
.print types convert as they do beside a table
CREATE TABLE texts(s TEXT, i INTEGER); INSERT INTO texts VALUES ('5', 5), ('05', '05x'), ('n5', 7);
CREATE VIRTUAL TABLE temp.untyped USING imgpar(SELECT 5 AS n UNION ALL SELECT '5' UNION ALL SELECT '05' UNION ALL SELECT 'n5' UNION ALL SELECT 7.0);
CREATE TABLE untyped_table(n); INSERT INTO untyped_table SELECT * FROM untyped;
SELECT (SELECT group_concat(n) FROM untyped, texts WHERE n = s), (SELECT group_concat(n) FROM untyped, texts WHERE n = i),
       (SELECT group_concat(n) FROM untyped, texts WHERE n IS s), (SELECT group_concat(n) FROM untyped, texts WHERE n < s),
       (SELECT group_concat(n) FROM untyped, texts WHERE n >= i), (SELECT group_concat(n) FROM untyped, texts WHERE n <> s);
SELECT (SELECT group_concat(n) FROM untyped_table, texts WHERE n = s), (SELECT group_concat(n) FROM untyped_table, texts WHERE n = i),
       (SELECT group_concat(n) FROM untyped_table, texts WHERE n IS s), (SELECT group_concat(n) FROM untyped_table, texts WHERE n < s),
       (SELECT group_concat(n) FROM untyped_table, texts WHERE n >= i), (SELECT group_concat(n) FROM untyped_table, texts WHERE n <> s);
SELECT id FROM soft WHERE raw(img) = (SELECT raw(blend(blur(lazy(img), 2), img_invert(img), 0.3)) FROM t WHERE id = 11);
SELECT count(*) FROM soft WHERE id = 1.5 OR name = 5 OR mean = 'x';
SELECT group_concat(id) FROM (SELECT id FROM soft ORDER BY mean DESC, name LIMIT 3);
SELECT count(DISTINCT second), count(DISTINCT id) FROM soft WHERE id <= 5;
SELECT a.id, b.id FROM soft a JOIN soft b ON b.id = a.id + 1 WHERE a.id IN (1, 99, 100);

.print tables on tables: deferred until the outer edge
CREATE VIRTUAL TABLE temp.outer_one USING imgpar(SELECT id, img_invert(img) AS img FROM soft WHERE id < 4);
DELETE FROM before; INSERT INTO before SELECT * FROM img_counters;
SELECT id, img_format(img) FROM outer_one;
SELECT * FROM done;
SELECT count(*) FROM outer_one o JOIN t USING (id) WHERE raw(o.img) = raw(img_invert(blend(blur(lazy(t.img), 2), img_invert(t.img), 0.3)));

.print a WITH, VALUES, an aggregate, a comment, commas and quotes
CREATE VIRTUAL TABLE temp.w USING imgpar(WITH a(x, y) AS (VALUES (1, 'it''s, so'), (2, 'b')) SELECT x, y, (SELECT img_stack_mean(img) FROM t WHERE id <= x) AS img FROM a /* end */);
SELECT x, y, img_format(img), img_pixel(img, 0, 0) FROM w;

CREATE VIRTUAL TABLE temp.semicolon USING imgpar(SELECT convolve(img, '[0 0 0; 0 1 0; 0 0 0]') AS img FROM t WHERE id = 1);
SELECT img_equal(s.img, t.img) FROM semicolon s, t WHERE t.id = 1;

.print img_try goes on past a damaged row
INSERT INTO t VALUES (101, 'cut', substr((SELECT png(img) FROM t WHERE id = 1), 1, 60)), (102, 'none', NULL), (103, 'text', CAST('text' AS BLOB));
CREATE VIRTUAL TABLE temp.good USING imgpar(SELECT id, img_try(blur(img, 1)) AS img, img_error(blur(img, 1)) AS error FROM t WHERE id >= 100);
SELECT id, img_format(img), error FROM good;
SELECT img_try(lazy(img)) IS NULL, img_error(lazy(img)), img_try(img) IS NULL, img_error(img) FROM t WHERE id = 101;
SELECT img_try(img) = img, raw(img_try(lazy(img))) = raw(img), img_error(img), img_error(NULL), img_try(NULL), img_error('a') FROM t WHERE id = 1;

.print refused
CREATE VIRTUAL TABLE x USING imgpar(SELECT 1);
CREATE VIRTUAL TABLE temp.x USING imgpar(DELETE FROM t);
CREATE VIRTUAL TABLE temp.x USING imgpar(DELETE FROM t RETURNING id);
CREATE VIRTUAL TABLE temp.x USING imgpar(SELECT 1; SELECT 2);
CREATE VIRTUAL TABLE temp.x USING imgpar(SELECT 1;);
CREATE VIRTUAL TABLE temp.x USING imgpar(SELECT ?);
CREATE VIRTUAL TABLE temp.x USING imgpar;
CREATE VIRTUAL TABLE temp.x USING imgpar(PRAGMA user_version);
CREATE VIRTUAL TABLE temp.x USING imgpar(SELECT * FROM nowhere);
CREATE VIRTUAL TABLE temp.x USING imgpar(SELECT 1 AS a, 2 AS a);
CREATE VIRTUAL TABLE temp.x USING imgpar(SELECT blur(img, -1) AS img FROM t);
SELECT * FROM x;
SELECT id, length(img) FROM soft WHERE id > 100;
CREATE VIRTUAL TABLE temp.failing USING imgpar(SELECT id, jpeg(img, 100 + id) AS img, jpeg(name) AS name, png(img, x'01') AS p, jpeg(blur(img, 1)) AS good FROM t);
SELECT id, img_format(good) FROM failing WHERE id < 3 OR id = 103;
SELECT img FROM failing;
SELECT name FROM failing;
SELECT p FROM failing;
SELECT png(good) FROM failing WHERE id = 101;
INSERT INTO soft(id) VALUES (1);
