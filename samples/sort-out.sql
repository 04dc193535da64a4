-- SPDX-License-Identifier: MIT
-- Finds dark, blurred and damaged photographs.
--
--     sqlite3 -cmd ".load imgpar" :memory: < sort-out.sql               (in a folder that holds photos/)
--
-- Dark: the mean level is low. Blurred: no edge is steep; sobel() makes edges light, so its largest value tells.
-- Scaled first, so that size does not count.
WITH small AS MATERIALIZED (
       SELECT name, img_try(gray(thumbnail(lazy(image), 400))) AS img FROM img_files('photos', '*.[pj]*g')),
     judged AS (SELECT name, img_mean(img) AS level, img_maxval(sobel(lazy(img))) AS steepest FROM small)
SELECT name, round(level) AS level, steepest,
       CASE WHEN level IS NULL THEN 'damaged' WHEN level < 30 THEN 'dark' WHEN steepest < 128 THEN 'blurred' ELSE 'good' END AS verdict
  FROM judged ORDER BY name;
