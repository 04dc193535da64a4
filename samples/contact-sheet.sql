-- SPDX-License-Identifier: MIT
-- A contact sheet of a folder, in the order of names. montage() passes by what is NULL, as img_try() makes damaged files.
--
--     sqlite3 -cmd ".load imgpar" :memory: < contact-sheet.sql          (in a folder that holds photos/)
SELECT save(montage(img, 'columns=3, width=200, height=150, gap=10, background=32'), 'sheet.png')
  FROM (SELECT img_try(thumbnail(lazy(image), 200, 150)) AS img FROM img_files('photos', '*.[pj]*g') ORDER BY name);
