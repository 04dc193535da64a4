-- SPDX-License-Identifier: MIT
-- Deferred images give the same pixels as plain ones, wherever SQL carries them.
CREATE TABLE t(id INTEGER PRIMARY KEY, img BLOB);
INSERT INTO t VALUES (1, CAST('P5 4 3 255' || char(10) || 'AZaz09!~mnop' AS BLOB)),
                     (2, CAST('P5 4 3 255' || char(10) || '0123456789ab' AS BLOB)),
                     (3, CAST('P5 4 3 255' || char(10) || '~}|{zyxwvuts' AS BLOB)),
                     (4, NULL);

.print a deferred image is a recipe that says what to do with it
SELECT img_format(lazy(img)), CAST(substr(lazy(img), 1, 79) AS TEXT) FROM t WHERE id = 1;
SELECT img_info(blur(lazy(img), 1)) FROM t WHERE id = 1;

.print nested
SELECT id, hex(raw(img_invert(blur(lazy(img), 1)))) = hex(raw(img_invert(blur(img, 1)))) FROM t;
SELECT a.id, b.id, hex(raw(blend(blur(lazy(a.img), 1), img_invert(b.img), 0.25))) =
                   hex(raw(blend(blur(a.img, 1), img_invert(b.img), 0.25)))
  FROM t a JOIN t b ON a.id < b.id;
SELECT hex(png(blur(lazy(img), 1))) = hex(blur(img, 1)), hex(png(lazy(img))) = hex(png(img)) FROM t WHERE id = 1;
SELECT img_mean(blur(lazy(img), 1)) = img_mean(blur(img, 1)), typeof(img_sum(lazy(img))) FROM t WHERE id = 1;

.print lazy of a deferred image is that image
SELECT lazy(lazy(img)) = lazy(img), lazy(blur(lazy(img))) = blur(lazy(img)) FROM t WHERE id = 1;

.print sub-queries, joins, one prefix used twice
SELECT id, hex(raw(img_invert(l))), hex(raw(l)) FROM (SELECT id, lazy(img) AS l FROM t) WHERE id < 3;
SELECT hex(raw(blend(blur(l, 1), blur(l, 2)))) = (SELECT hex(raw(blend(blur(img, 1), blur(img, 2)))) FROM t WHERE id = 1)
  FROM (SELECT lazy(img) AS l FROM t WHERE id = 1);
SELECT hex(raw((SELECT img_invert(x) FROM (SELECT blur(lazy(t.img), 1) AS x)))) = hex(raw(img_invert(blur(img, 1)))) FROM t WHERE id < 4;

.print views
CREATE VIEW soft AS SELECT id, blur(lazy(img), 1) AS img FROM t;
SELECT soft.id, hex(raw(img_invert(soft.img))) = hex(raw(img_invert(blur(t.img, 1)))) FROM soft JOIN t USING (id);

.print CTEs: materialised, not, recursive
WITH s AS MATERIALIZED (SELECT id, blur(lazy(img), 1) AS l FROM t WHERE id < 4)
  SELECT s.id, hex(raw(img_invert(l))) = hex(raw(img_invert(blur(img, 1)))) FROM s JOIN t USING (id);
WITH s AS NOT MATERIALIZED (SELECT id, blur(lazy(img), 1) AS l FROM t WHERE id < 4)
  SELECT s.id, hex(raw(img_invert(l))) = hex(raw(img_invert(blur(img, 1)))) FROM s JOIN t USING (id);
WITH RECURSIVE r(n, l) AS (SELECT 0, lazy(img) FROM t WHERE id = 1
                           UNION ALL SELECT n + 1, img_invert(l) FROM r WHERE n < 5)
  SELECT n, hex(raw(l)) FROM r;

.print sorters, DISTINCT, UNION, GROUP BY, windows, CASE, coalesce
SELECT id, hex(raw(l)) = (SELECT hex(raw(img_invert(img))) FROM t WHERE id = o.id)
  FROM (SELECT id, img_invert(lazy(img)) AS l FROM t WHERE img NOT NULL ORDER BY img_mean(img) DESC LIMIT 2) o;
SELECT count(*), count(DISTINCT l) FROM (SELECT lazy(img) AS l FROM t UNION ALL SELECT lazy(img) FROM t);
SELECT count(*) FROM (SELECT img_invert(lazy(img)) AS l FROM t WHERE id < 4 UNION SELECT img_invert(lazy(img)) FROM t WHERE id < 4);
SELECT hex(raw(max(l))) = hex(raw(img_invert(img))) FROM (SELECT img_invert(lazy(img)) AS l, img FROM t WHERE id = 2) GROUP BY img;
SELECT id, hex(raw(lag(l) OVER (ORDER BY id))) FROM (SELECT id, lazy(img) AS l FROM t WHERE id < 4);
SELECT id, hex(raw(coalesce(CASE WHEN id = 1 THEN img_invert(lazy(img)) END, lazy(img), 'never'))) FROM t WHERE id < 3;

.print stored and used later
CREATE TABLE recipes AS SELECT id, blend(blur(lazy(img), 1), img_invert(lazy(img)), 0.5) AS r FROM t;
UPDATE t SET img = NULL WHERE id = 3;
SELECT id, hex(raw(r)) FROM recipes;
SELECT r.id, hex(raw(img_invert(r.r))) = hex(raw(img_invert(blend(blur(img, 1), img_invert(img), 0.5)))) FROM recipes r JOIN t USING (id);

.print stored pipelines are rows
CREATE TABLE pipelines(name TEXT, body TEXT);
INSERT INTO pipelines VALUES ('negative', 'invert($1)'), ('mixed', 'blend(blur($1, 1), invert($1), 0.25)');
SELECT name, id, hex(raw(apply(body, lazy(img)))) = hex(raw(apply(body, img))) FROM pipelines, t WHERE id < 3;
SELECT hex(raw(apply('blend($1, $2, 0.5)', blur(lazy(a.img), 1), b.img))) =
       hex(raw(blend(blur(a.img, 1), b.img, 0.5))) FROM t a, t b WHERE a.id = 1 AND b.id = 2;

.print equal sources and operations are stored once
SELECT json_extract(info, '$.sources'), json_extract(info, '$.operations')
  FROM (SELECT img_info(blend(blur(lazy(img), 1), img_add(blur(lazy(img), 1), blur(img, 2)))) AS info FROM t WHERE id = 1);
SELECT json_extract(info, '$.sources'), json_extract(info, '$.operations')
  FROM (SELECT img_info(blend(blend(lazy(a.img), b.img), blend(lazy(a.img), b.img), 0.1)) AS info FROM t a, t b WHERE a.id = 1 AND b.id = 2);

.print stored pipelines are parsed once, however many rows there are
CREATE TEMP TABLE before AS SELECT * FROM img_counters;
INSERT INTO pipelines VALUES ('dark', 'linear($1, 0.5)');
SELECT count(*), count(DISTINCT png(apply(p.body, lazy(img)))) FROM pipelines p, t, (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) WHERE img IS NOT NULL;
SELECT c.value - b.value FROM img_counters c JOIN before b USING (name) WHERE name = 'texts_parsed';
.print and compiled once a program
SELECT sum(c.value - b.value) <= 3 FROM img_counters c JOIN before b USING (name) WHERE name IN ('programs_built', 'programs_loaded');

.print png() outside a sub-query that limits: three of a hundred are computed
CREATE TABLE many AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
  SELECT i AS id, apply('cast(make(16, 12, 3 * x + y + ' || i || '), u8)') AS img FROM n;
CREATE TEMP VIEW done AS SELECT group_concat(name || ' ' || (c.value - b.value), ', ') AS done
  FROM img_counters c JOIN before b USING (name) WHERE name IN ('evaluations', 'decodes', 'encodes');
DELETE FROM before; INSERT INTO before SELECT * FROM img_counters;
SELECT count(png(l)) FROM (SELECT blur(lazy(img), 2) AS l FROM many ORDER BY id DESC LIMIT 3);
SELECT * FROM done;

.print what a sink has computed serves all that ask for the same image, however SQL carried it
DELETE FROM before; INSERT INTO before SELECT * FROM img_counters;
SELECT img_format(png(l)), img_format(jpeg(l)), img_mean(l) = img_mean(blur(img, 2)) FROM (SELECT img, blur(lazy(img), 2) AS l FROM many WHERE id = 7);
SELECT * FROM done;
DELETE FROM before; INSERT INTO before SELECT * FROM img_counters;
WITH s AS MATERIALIZED (SELECT blur(lazy(img), 2) AS l FROM many WHERE id = 8) SELECT img_format(png(l)), img_format(npy(l)) FROM s;
SELECT * FROM done;
