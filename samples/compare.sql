-- SPDX-License-Identifier: MIT
-- Before and after: what JPEG of several qualities, and a blur, do to a picture.
--
--     sqlite3 -cmd ".load imgpar" :memory: < compare.sql                (in a folder that holds photos/)
--     sqlite3 -cmd ".load imgpar" -cmd ".parameter set :picture tower.png" :memory: < compare.sql     (one of them)
-- JPEG holds 8 bits and no alpha, so that is what is compared.
WITH chosen(img, n) AS MATERIALIZED (SELECT image, img_channels(image) FROM img_files('photos', '*.[pj]*g')
                       WHERE coalesce(name = :picture, img_error(image) IS NULL) ORDER BY name LIMIT 1),
     original(img) AS MATERIALIZED (SELECT png(CASE n WHEN 2 THEN apply('slice($1, 0, 1, axis=2)', lazy(img))
                           WHEN 4 THEN apply('slice($1, 0, 3, axis=2)', lazy(img)) ELSE img END, 'bits=8') FROM chosen),
     changed(what, img) AS MATERIALIZED (SELECT 'jpeg ' || value, jpeg(img, value) FROM original, json_each('[95, 75, 30]')
                            UNION ALL SELECT 'blur 1', blur(img, 1) FROM original
                            UNION ALL SELECT 'nothing', img_invert(img_invert(lazy(img))) FROM original)
SELECT what, printf('%.1f dB', img_psnr(o.img, c.img)) AS psnr, printf('%.3f', img_ssim(o.img, c.img)) AS ssim,
       img_equal(o.img, c.img) AS equal
  FROM original o, changed c;
