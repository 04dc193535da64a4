-- SPDX-License-Identifier: MIT
-- The pictures nearest to one: by perceptual hash, and by the distance of their histograms.
--
--     sqlite3 -cmd ".load imgpar" :memory: < nearest.sql                (in a folder that holds photos/)
--     sqlite3 -cmd ".load imgpar" -cmd ".parameter set :picture tower.png" :memory: < nearest.sql     (nearest to this one)
--
-- phash() is kept in a column with an index, so that later questions need no pictures at all.
CREATE TABLE pictures(name TEXT PRIMARY KEY, phash INTEGER);
CREATE TABLE colours(name TEXT, channel INTEGER, bin INTEGER, percent REAL, PRIMARY KEY (name, channel, bin)) WITHOUT ROWID;
CREATE TEMP TABLE small AS
  SELECT name, img_try(thumbnail(lazy(image), 256)) AS img FROM img_files('photos', '*.[pj]*g');
DELETE FROM small WHERE img IS NULL; -- what is damaged
CREATE TEMP TABLE chosen AS SELECT name FROM small WHERE coalesce(name = :picture, true) ORDER BY name LIMIT 1;

INSERT INTO pictures SELECT name, phash(img) FROM small;
-- red, green and blue; a gray picture has the same of each, and alpha does not count
INSERT INTO colours
  SELECT name, c.value, bin, percent FROM small, histogram(img, 16) AS h, json_each('[0, 1, 2]') AS c
    WHERE h.channel = iif(img_channels(img) < 3, 0, c.value);

.print the same picture, scaled or recompressed, differs in a few bits of 64
SELECT b.name, hamming(a.phash, b.phash) AS bits FROM chosen JOIN pictures a USING (name), pictures b
  WHERE b.name <> a.name ORDER BY bits, b.name LIMIT 3;

.print similar colours, wherever they are in the picture: 0 is the same histogram, 100 nothing in common
SELECT b.name, round(sum(abs(a.percent - b.percent)) / 6) AS distance
  FROM chosen JOIN colours a USING (name) JOIN colours b USING (channel, bin)
  WHERE b.name <> a.name GROUP BY b.name ORDER BY distance, b.name LIMIT 3;
