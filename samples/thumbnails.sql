-- SPDX-License-Identifier: MIT
-- Thumbnails of a folder into a table. A damaged file gets a row that says why it has none.
--
--     sqlite3 -cmd ".load imgpar" pictures.db < thumbnails.sql          (in a folder that holds photos/)
--
-- lazy() makes the work deferred, so img_try() can try it; thumbnail() decodes a JPEG no larger than needed.
CREATE TABLE IF NOT EXISTS thumbnails(path TEXT PRIMARY KEY, width INTEGER, height INTEGER, img BLOB, error TEXT);

INSERT OR REPLACE INTO thumbnails
  SELECT path, width, height, jpeg(img_try(thumbnail(lazy(image), 320)), 75), img_error(thumbnail(lazy(image), 320))
    FROM img_files('photos', '*.[pj]*g');

SELECT path, width || 'x' || height AS size, img_width(img) || 'x' || img_height(img) AS thumbnail, error
  FROM thumbnails ORDER BY path;
