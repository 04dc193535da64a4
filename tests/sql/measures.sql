-- SPDX-License-Identifier: MIT
-- Measures and aggregates, on images small enough to work out by hand.
CREATE TABLE t(id INTEGER PRIMARY KEY, img BLOB);
INSERT INTO t VALUES (1, CAST('P5 4 1 255' || char(10) || 'ABCD' AS BLOB)),
                     (2, CAST('P5 4 1 255' || char(10) || 'BBDD' AS BLOB)),
                     (3, CAST('P6 2 1 255' || char(10) || 'RGBrgb' AS BLOB)),
                     (4, NULL);

.print std: of 65..68 the square root of 1.25; of equal values 0
SELECT printf('%.9f', img_std(img)), printf('%.9f', img_std(lazy(img))), img_std(apply('make(5, 4, 200)', NULL)) FROM t WHERE id = 1;
SELECT img_std(apply('make(5, 4, 200)')), printf('%.6f', img_std(img_cast(img, 'f32'))) FROM t WHERE id = 1;

.print psnr: the mean square is (1 + 0 + 1 + 0) / 4, so 10 log10(255^2 / 0.5)
SELECT printf('%.6f', img_psnr(a.img, b.img)), printf('%.6f', img_psnr(lazy(a.img), b.img, 100)), img_psnr(a.img, a.img)
  FROM t a, t b WHERE a.id = 1 AND b.id = 2;

.print ssim: of two flat images (2 a b + C1) / (a^2 + b^2 + C1), with C1 = 6.5025; of an image with itself 1
SELECT printf('%.5f', img_ssim(apply('cast(make(20, 20, 100), u8)'), apply('cast(make(20, 20, 50), u8)'))),
       printf('%.5f', (2.0 * 100 * 50 + 6.5025) / (100 * 100 + 50 * 50 + 6.5025));
SELECT img_ssim(img, img, 'reflect'), img_ssim(lazy(img), img, 'reflect') FROM t WHERE id = 1;
SELECT ssim(img, img, 'reflect'), psnr(img, img) FROM t WHERE id = 1;

.print equal
SELECT img_equal(a.img, b.img), img_equal(a.img, a.img), img_equal(lazy(a.img), png(a.img)), img_equal(a.img, c.img),
       img_equal(a.img, img_cast(a.img, 'f32')) FROM t a, t b, t c WHERE a.id = 1 AND b.id = 2 AND c.id = 3;

.print a pixel
SELECT img_pixel(img, 3, 0), img_pixel(img_invert(lazy(img)), 0, 0) FROM t WHERE id = 1;
SELECT img_pixel(img, 1, 0), img_pixel(img, 1, 0, 2), typeof(img_pixel(img_cast(img, 'f32'), 0, 0, 0)) FROM t WHERE id = 3;
SELECT img_pixel(img, 4, 0) FROM t WHERE id = 1;
SELECT img_pixel(img, 0, -1) FROM t WHERE id = 1;

.print hamming: bits that differ
SELECT hamming(0, 7), hamming(-1, 0), hamming(5, 5), hamming(NULL, 1);
SELECT hamming(1.5, 2);
SELECT img_hamming(0, 7), hex(raw(img_cast(img_hamming(a.img, b.img), 'u8'))) FROM t a, t b WHERE a.id = 1 AND b.id = 2;
SELECT hamming(img, img) FROM t WHERE id = 1;

.print phash: hardly changed by scale and quality, and all bits by inversion
SELECT hamming(phash(a), phash(resize(a, 100))) <= 4, hamming(phash(a), phash(jpeg(a, 30))) <= 4, hamming(phash(a), phash(lazy(a))),
       hamming(phash(a), phash(img_invert(a))) >= 60, hamming(phash(a), phash(flip(a))) > 16
  FROM (SELECT apply('cast(make(160, 120, 128 + 60 * sin(x / 9.0) * cos(y / 14.0 + x / 50.0) + 40 * sin(y / 31.0)), u8)') AS a);

.print stacks: the mean of 65 and 66 is 65.5, to even 66; of 67 and 68 it is 68
SELECT hex(raw(img_stack_mean(img))), hex(raw(img_stack_min(img))), hex(raw(img_stack_max(img))) FROM t WHERE id <> 3;
SELECT img_format(img_stack_mean(lazy(img))), hex(raw(img_stack_mean(lazy(img)))) FROM t WHERE id <> 3;
SELECT img_stack_mean(img), img_stack_min(img) FROM t WHERE id = 4;
SELECT id % 2, hex(raw(img_stack_max(img))) FROM t WHERE id < 3 GROUP BY 1;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 41)
  SELECT hex(raw(img_stack_mean(CAST('P5 2 1 255' || char(10) || char(40 + i, 100) AS BLOB)))),
         hex(raw(img_stack_max(CAST('P5 2 1 255' || char(10) || char(40 + i, 100) AS BLOB)))) FROM n;
.print a stack of all, in order, of one image, of none; nine times both pictures is more than one fold
SELECT hex(raw(img_stack(img))), hex(raw(img_stack(lazy(img)))), img_format(img_stack(lazy(img))) FROM t WHERE id <> 3;
SELECT hex(raw(img_stack(img))), img_dtype(img_stack(img)), img_info(img_stack(img)) FROM t WHERE id = 3;
SELECT img_stack(img) FROM t WHERE id = 4;
SELECT hex(raw(apply('minval($1, axis=0)', img_stack(img)))), hex(raw(apply('sum($1, axis=0) / 9', img_cast(img_stack(img), 'f64')))) FROM t, (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i FROM n) WHERE id < 3;
SELECT hex(raw(exposure_fusion(img_stack(img)))) = hex(raw(exposure_fusion(apply('concatenate(expand_dims($1), expand_dims($2))', min(img), max(img))))) FROM (SELECT img FROM t WHERE id < 3);
SELECT img_stack(img) FROM t;
SELECT img_stack(s) FROM (SELECT img_stack(img) AS s FROM t WHERE id = 1);
SELECT img_stack_mean(img) FROM t;

.print a contact sheet: two cells of 4 x 4, a gap of 1, the images in their middle
SELECT img_width(s), img_height(s), img_channels(s), img_pixel(s, 0, 0), img_pixel(s, 1, 2), img_pixel(s, 4, 2), img_pixel(s, 6, 2)
  FROM (SELECT montage(img, 'columns=2, width=4, height=4, gap=1, background=9') AS s FROM t WHERE id < 3);
SELECT img_width(s), img_height(s), img_format(s) FROM (SELECT montage(lazy(img), 0, 10) AS s FROM t, (SELECT 1 UNION ALL SELECT 2));
SELECT montage(img, 'rows=2') FROM t;
SELECT montage(img, -1) FROM t;

.print NULL in, NULL out
SELECT img_std(NULL), img_psnr(img, NULL), img_ssim(NULL, img), img_equal(img, NULL), img_pixel(img, NULL, 0), phash(NULL) FROM t WHERE id = 1;
.print errors
SELECT img_psnr(a.img, b.img) FROM t a, t b WHERE a.id = 1 AND b.id = 3;
SELECT img_psnr(img, img, 0) FROM t WHERE id = 1;
.print an image without columns
SELECT typeof(raw(i)), length(raw(i)) FROM (SELECT apply('slice($1, [0], [0], axis=1)', lazy(img)) AS i FROM t WHERE id = 1);
SELECT montage(apply('slice($1, [0], [0], axis=1)', lazy(img))) FROM t;

.print a stack is a value: no larger than max_pixels
SELECT img_setting('max_pixels', '7');
SELECT img_stack(img) FROM t WHERE id < 3;
SELECT img_setting('max_pixels', '1K');
SELECT length(raw(img_stack(img))) FROM t WHERE id < 3;
.print the mean of whole numbers of 64 bits is exact: 2^63-2, -2^63, -2.5 to even -2; 2^64-1, 2^63-0.5 to even 2^63
SELECT hex(raw(img_stack_mean(a))) FROM (SELECT apply('(numbers([1 1 0], dtype=i64) << 63) ^ numbers([-1 0 -3], dtype=i64)') AS a
  UNION ALL SELECT apply('(numbers([1 1 0], dtype=i64) << 63) ^ numbers([-3 0 -2], dtype=i64)'));
SELECT hex(raw(img_stack_mean(a))) FROM (SELECT apply('~(numbers([0 1], dtype=u64) << 63)') AS a
  UNION ALL SELECT apply('~(numbers([0 1], dtype=u64) << 63) + numbers([0 1], dtype=u64)'));
.print a pixel of 64 bits has all its digits: 2^60 + 1; 2^64 - 1, and (2^64 - 5) / 2 rounded down; alone above 2^63 it is the nearest REAL
SELECT img_pixel(a, 0, 0), img_pixel(a, 0, 0, 1), typeof(img_pixel(a, 0, 0, 1)) FROM (SELECT apply('(ones([1, 2, 3], dtype=i64) << 60) + c') AS a);
SELECT img_pixel(a, 0, 0), img_pixel(a, 0, 0, 2), img_pixel(a, 0, 0, 1) FROM (SELECT apply('~numbers([0 0 4], dtype=u64) >> numbers([0 0 1], dtype=u64) << zeros([1, 2, 3], dtype=u64)') AS a);
.print phash of levels in a wider dtype, without white, is that of the language and of bytes
SELECT d, phash(i) = apply('phash($1)', i), phash(i) = phash(a) FROM (SELECT d, a, apply('cast($1, ' || d || ')', a) AS i
  FROM (SELECT apply('cast(make(32, 24, 128 + 60 * sin(x / 5.0) * cos(y / 4.0 + x / 50.0)), u8) + 0') AS a), (SELECT 'i16' AS d UNION ALL SELECT 'i32'));
.print psnr: peak by name
SELECT img_psnr(a.img, b.img, 'peak=1e2') = img_psnr(a.img, b.img, 100) FROM t a, t b WHERE a.id = 1 AND b.id = 2;
SELECT img_psnr(img, img, 'peak=-1') FROM t WHERE id = 1;
SELECT img_psnr(img, img, 'top=1') FROM t WHERE id = 1;
