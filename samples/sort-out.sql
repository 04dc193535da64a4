-- SPDX-License-Identifier: MIT
-- Finds dark, blurred and damaged photographs.
--
--     sqlite3 -cmd ".load imgpar" :memory: < sort-out.sql               (in a folder that holds photos/)
--
-- Dark: the mean level is low. Blurred: no edge is steep; sobel() makes edges light, so its largest value tells. Both in percent
-- of white, which is 255 or, in pictures of 16 bits, 65535. Scaled first, so that size does not count, and without alpha.
WITH small AS MATERIALIZED (
       SELECT name, img_try(apply('slice(gray(thumbnail($1, 400)), 0, 1, axis=2)', lazy(image))) AS img
         FROM img_files('photos', '*.[pj]*g')),
     judged AS (SELECT name, 100 * img_mean(img) / white AS level, 100 * img_maxval(sobel(lazy(img))) / white AS steepest
         FROM (SELECT name, img, CASE img_dtype(img) WHEN 'u16' THEN 65535.0 ELSE 255.0 END AS white FROM small))
SELECT name, round(level) AS level, round(steepest) AS steepest,
       CASE WHEN level IS NULL THEN 'damaged' WHEN level < 12 THEN 'dark' WHEN steepest < 50 THEN 'blurred' ELSE 'good' END AS verdict
  FROM judged ORDER BY name;
