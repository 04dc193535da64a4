-- SPDX-License-Identifier: MIT
-- Thumbnails of a folder into a table. A damaged file gets a row that says why it has none.
--
--     sqlite3 -cmd ".load imgpar" pictures.db < thumbnails.sql          (in a folder that holds photos/)
--
-- lazy() makes the work deferred, so img_error() can try it; what it has computed, jpeg() encodes. thumbnail() decodes a JPEG no
-- larger than needed. LIMIT -1 keeps SQLite from putting the inner SELECT in three places, which would read each file as often.
CREATE TABLE IF NOT EXISTS thumbnails(path TEXT PRIMARY KEY, width INTEGER, height INTEGER, img BLOB, error TEXT);

INSERT OR REPLACE INTO thumbnails
  SELECT path, width, height, CASE WHEN error IS NULL THEN jpeg(img, 75) END, error
    FROM (SELECT path, width, height, img, img_error(img) AS error
            FROM (SELECT path, width, height, thumbnail(lazy(image), 320) AS img FROM img_files('photos', '*.[pj]*g') LIMIT -1)
            LIMIT -1);

SELECT path, width || 'x' || height AS size, img_width(img) || 'x' || img_height(img) AS thumbnail, error
  FROM thumbnails ORDER BY path;
