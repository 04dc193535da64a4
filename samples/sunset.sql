-- SPDX-License-Identifier: MIT
-- The sunset pipeline in SQL: a blurred tower, blended with a sunset, with an inverted forest in a circle.
-- In a folder that holds tower.png, sunset.png and forest.png, with imgpar.so in the search path:
--
--     sqlite3 -cmd ".load imgpar" < sunset.sql
--
-- lazy() makes everything after it deferred; png() computes it all at once and encodes once.
CREATE TEMP TABLE photos(name TEXT PRIMARY KEY, img BLOB);
INSERT INTO photos SELECT value, readfile(value || '.png') FROM json_each('["tower", "sunset", "forest"]');

WITH soft AS (SELECT boxblur(boxblur(boxblur(lazy(img), 3), 3), 3) AS img FROM photos WHERE name = 'tower'),
     mixed AS (SELECT blend(soft.img, p.img, 0.3) AS img FROM soft, photos p WHERE p.name = 'sunset')
SELECT 'out-sql.png', writefile('out-sql.png',
           png(overlay(mixed.img, img_invert(p.img), circle(mixed.img, img_height(mixed.img) / 4.0)))) || ' bytes'
  FROM mixed, photos p WHERE p.name = 'forest';
