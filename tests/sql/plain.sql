-- SPDX-License-Identifier: MIT
-- Plain images: what goes in as bytes comes out as a finished PNG, or as NPY where PNG cannot hold it.
CREATE TABLE t(id INTEGER PRIMARY KEY, img BLOB);
INSERT INTO t VALUES (1, CAST('P5 4 3 255' || char(10) || 'AZaz09!~mnop' AS BLOB)),
                     (2, CAST('P6 2 1 255' || char(10) || 'RGBrgb' AS BLOB)),
                     (3, NULL);

.print headers
SELECT id, img_width(img), img_height(img), img_channels(img), img_dtype(img), img_format(img), img_valid(img) FROM t;
SELECT img_info(img) FROM t WHERE id = 2;

.print a result is a PNG
SELECT id, hex(substr(img_invert(img), 2, 3)), img_format(img_invert(img)) FROM t;

.print pixels: 255 - v
SELECT id, hex(raw(img)), hex(raw(img_invert(img))) FROM t;

.print what PNG cannot hold is NPY
SELECT img_format(f), img_dtype(f), hex(raw(img_cast(f, 'u8'))) FROM (SELECT img_cast(img, 'f32') AS f FROM t WHERE id = 1);

.print options by position, by name, and both are the same
SELECT count(DISTINCT hex(p)) FROM (
  SELECT raw(blur(img, 1.5, 'wrap')) AS p FROM t WHERE id = 1 UNION ALL
  SELECT raw(blur(img, 'sigma=1.5, border=wrap')) FROM t WHERE id = 1 UNION ALL
  SELECT raw(blur(img, 1.5, 'border=wrap')) FROM t WHERE id = 1 UNION ALL
  SELECT raw(img_blur(img, '1.5', 'wrap')) FROM t WHERE id = 1);

.print neighbourhoods: the largest, which is dilate(), and how many are larger
SELECT hex(raw(apply('around($1, 1, (p, q) -> q, "max")', img))), hex(raw(dilate(img, 3))) FROM t WHERE id = 1;
SELECT hex(raw(apply('cast(around($1, 1, (p, q) -> q > p, "sum"), u8)', img))) FROM t WHERE id = 1;

.print matrices as text and as JSON: a mean of left and right neighbour
SELECT hex(raw(convolve(img, '[1 0 1]', 'scale=2'))) FROM t WHERE id = 1;
SELECT hex(raw(convolve(img, '[[1,0,1]]', 'scale=2'))) FROM t WHERE id = 1;

.print a number beside an image
SELECT hex(raw(img_add(img, 1))), hex(raw(img_subtract(100, img))) FROM t WHERE id = 2;

.print numbers
SELECT img_sum(img), img_minval(img), img_maxval(img), img_mean(img) FROM t;
SELECT typeof(img_mean(img)), typeof(img_sum(img)) FROM t WHERE id = 1;

.print NULL in, NULL out
SELECT blur(NULL) IS NULL, blur(img, NULL) IS NULL, png(NULL) IS NULL, lazy(NULL) IS NULL, img_width(NULL) IS NULL,
       apply(NULL, img) IS NULL, apply('blur($1, 1)', NULL) IS NULL, img_error(NULL) IS NULL FROM t WHERE id = 1;

.print the pipeline language
SELECT hex(raw(apply('invert($1)', img))), apply('sum($1)', img) FROM t WHERE id = 2;
SELECT hex(raw(apply('255 - $1', img))), img_dtype(apply('255 - $1', img)) FROM t WHERE id = 2;
SELECT hex(raw(apply('$1 + $2', img, 2))) = hex(raw(apply('$1 + 2', img))) FROM t WHERE id = 2;

.print errors say what is wrong, and img_error tells it without failing
SELECT img_valid('text'), img_error('text'), img_valid(x'00'), img_error(img) FROM t WHERE id = 1;
SELECT blur(img, -1) FROM t;
SELECT apply('around($1, 1, p -> p)', img) FROM t WHERE id = 1;

.print any number of images one behind another, and the least of them
SELECT img_width(img_concatenate(img, img, img, 1)), img_height(img_concatenate(img, img_invert(img), img, img, 'axis=0')) FROM t WHERE id = 1;
SELECT hex(raw(img_minimum(img, 100, img_invert(img), 90))) FROM t WHERE id = 2;
SELECT hex(raw(img_concatenate(lazy(img), img, lazy(img), 1))) = hex(raw(img_concatenate(img, img, img, 1))) FROM t WHERE id = 1;

.print a matrix that is an image: columns beside each other, and one to the right
SELECT hex(raw(convolve(img, img_numbers('[1 0 1]'), 'scale=2'))), hex(raw(convolve_by(img, img_numbers('[1 0 1]'), 2))) FROM t WHERE id = 1;
SELECT hex(raw(convolve(lazy(img), img_numbers('[1 0 1]'), 2))), hex(raw(convolve(img, lazy(img_numbers('[1 0 1]')), 2))) FROM t WHERE id = 1;
SELECT hex(raw(warp(img, img_numbers('[1 0 1; 0 1 0]')))) = hex(raw(warp(img, '[1 0 1; 0 1 0]'))), hex(raw(warp(lazy(img), img_numbers('[1 0 1; 0 1 0]')))) FROM t WHERE id = 1;
SELECT hex(raw(convolve(img_numbers('[0 0 1]'), img_numbers('[1 2 3]'), 'border=constant')));
SELECT convolve(img, img_numbers('[1 2]')) FROM t WHERE id = 1;
SELECT convsep(img, img_numbers('[1 2 1]'), '[1 2 1]') FROM t WHERE id = 1;

.print of structuring elements
SELECT hex(raw(img_median(img, 'element=[0 1 0; 1 1 1; 0 1 0]'))), hex(raw(img_median(lazy(img), 3, 'shape=cross'))) FROM t WHERE id = 1;
SELECT hex(raw(percentile_filter(img, 100, 'element=[1 0 0]'))), hex(raw(mode_filter(img, 'element=[0 0 1]'))) FROM t WHERE id = 1;
SELECT percentile_filter(img, 50, 'element=[0 0 0]') FROM t WHERE id = 1;

.print arithmetic of numbers where a list or a number is expected
SELECT count(DISTINCT hex(p)) FROM (
  SELECT raw(convolve(img, '[0.25 0.5 0.25]')) AS p FROM t WHERE id = 1 UNION ALL
  SELECT raw(convolve(img, '[1 2 1] / 4')) FROM t WHERE id = 1 UNION ALL
  SELECT raw(convolve(img, '([[1, 2, 1]] / (2 + 2))')) FROM t WHERE id = 1 UNION ALL
  SELECT raw(convolve(img, '[1 / 4, 2 / 4, 1 / 4]')) FROM t WHERE id = 1 UNION ALL
  SELECT raw(convolve(img, '[pi, 6.283185307179586, pi]', 'scale=4 * pi')) FROM t WHERE id = 1 UNION ALL
  SELECT raw(convolve(img, 'matrix=[1 2 1] / 2, scale=4 / 2')) FROM t WHERE id = 1 UNION ALL
  SELECT raw(convolve(lazy(img), '-[-1 -2 -1] / 4')) FROM t WHERE id = 1);
CREATE VIRTUAL TABLE temp.arithmetic USING imgpar(SELECT convolve(img, '[1 2 1] / 4') AS img FROM t WHERE id = 1);
SELECT hex(raw(img)) = (SELECT hex(raw(convolve(img, '[0.25 0.5 0.25]'))) FROM t WHERE id = 1) FROM temp.arithmetic;
