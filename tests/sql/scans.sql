-- SPDX-License-Identifier: MIT
-- Tables whose rows are made one by one: pixels, img_tiles, img_files, imgpar_folder, img_regions; and img_stats_of.
CREATE TABLE t(id INTEGER PRIMARY KEY, img BLOB);
INSERT INTO t VALUES (1, CAST('P5 4 3 255' || char(10) || 'ABCDEFGHIJKL' AS BLOB)),
                     (2, CAST('P6 2 2 255' || char(10) || 'RGBrgbRGBrga' AS BLOB)),
                     (3, NULL);

.print pixels: one row each; v is 0.299 r + 0.587 g + 0.114 b
SELECT p.* FROM t, pixels(img) p WHERE id = 2;
SELECT group_concat(v, ' ') FROM t, pixels(img) WHERE id = 1;
SELECT group_concat(v, ' ') FROM t, pixels(img_invert(lazy(img))) WHERE id = 1;
SELECT x, y, r, a, typeof(v) FROM t, pixels(img_cast(img, 'f32')) WHERE id = 1 AND x = 3 AND y = 2;
.print bounds on x and y, a rectangle, and both
SELECT group_concat(x || ',' || y || '=' || v, ' ') FROM t, pixels(img) WHERE id = 1 AND x > 0.5 AND x <= 2 AND y >= 1;
SELECT group_concat(x || ',' || y || '=' || v, ' ') FROM t, pixels(img, 1, 1, 2, 9) WHERE id = 1;
SELECT group_concat(x || ',' || y || '=' || v, ' ') FROM t, pixels(img, -1, 0, 3, 2) WHERE id = 1 AND y = 1;
SELECT count(*) FROM t, pixels(img) WHERE id = 1 AND (x > 3 OR y = 0);
SELECT count(*) FROM t, pixels(img) WHERE x > 'a' AND id = 1;
SELECT count(*) FROM t, pixels(img) WHERE x = 1e300 OR y < -5;
SELECT count(*) FROM t JOIN pixels(img) p ON p.x = t.id;
.print only what lies within is computed: 100 of 1,000,000 bytes
CREATE TABLE big AS SELECT apply('cast(make(1000, 1000, (x + y) % 251), u8)') AS img;
CREATE TEMP TABLE before AS SELECT * FROM img_counters;
SELECT count(*), min(v), max(v) FROM big, pixels(lazy(img)) WHERE x BETWEEN 500 AND 509 AND y BETWEEN 600 AND 609;
SELECT c.value - b.value FROM img_counters c JOIN before b USING (name) WHERE name = 'bytes_downloaded';

.print stats: the mean of 82 114 82 114 is 98, its deviation 16
SELECT id, s.* FROM t, img_stats_of(img) s WHERE id = 2;
SELECT min, max, round(mean, 6), round(std, 6), sum, count FROM t, img_stats_of(img_cast(lazy(img), 'f32')) WHERE id = 1;
SELECT count(*) FROM img_stats_of(NULL);
SELECT min, max, mean, round(std, 6), sum, count FROM img_stats_of(apply('cast(numbers([-128 127; 0 1]), i8)'));
SELECT s.* FROM t, img_stats_of(apply('$1 > 70', img)) s WHERE id = 1;

.print tiles: plain of a plain image, deferred of a deferred one
SELECT "column", "row", x, y, width, height, img_format(image), hex(raw(image)) FROM t, img_tiles(img, 3, 2) WHERE id = 1;
SELECT x, y, img_format(image), hex(raw(image)) FROM t, img_tiles(img_invert(lazy(img)), 3, 2) WHERE id = 1;
SELECT count(*), sum(width * height) FROM t, img_tiles(img, 100, 1) WHERE id = 1;

.print regions: an L of three pixels and, apart from it, two in a column; 5 rows of 4
CREATE TABLE m AS SELECT apply('cast(255 * make(4, 5, (x == 0 && y < 2) || (x == 1 && y == 1) || (x == 3 && y > 2)), u8)') AS mask;
SELECT label, area, round(x, 6), round(y, 6), left, top, width, height FROM m, img_regions(mask);
SELECT label, round(perimeter, 6), round(orientation, 6), round(eccentricity, 6), extent FROM m, img_regions(lazy(mask));
SELECT label, mean, min, max, round(std, 6) FROM m, img_regions(mask, apply('cast(make(4, 5, 10 * y + x), u8)'));
SELECT label, mean FROM m, img_regions(mask, apply('fill(4, 5, [100 200 50 0], channels=4)'));
SELECT label, area, mean FROM m, img_regions(img_invert(mask), mask, 4);
SELECT count(*), sum(mean IS NULL) FROM m, img_regions(mask);
SELECT count(*) FROM img_regions(NULL);
SELECT count(*) FROM m, img_regions(mask, NULL);
SELECT count(*) FROM m, img_regions(apply('$1 * 0', mask));

.print files: sorted, by glob, with the folders below
SELECT writefile('files/b.png', img_invert(img)), writefile('files/a.pgm', img), writefile('files/sub/c.png', png(img)),
       writefile('files/not.txt', 'hello'), writefile('files/cut.png', substr(png(img), 1, 50)) > 0 FROM t WHERE id = 1;
SELECT name, format, width, height, channels, error FROM img_files('files');
SELECT path, size, mtime > 1e9 FROM img_files('files', '*.p?m') WHERE size > 0;
SELECT path FROM img_files('files/', '*.png', 1);
SELECT name, hex(raw(image)) FROM img_files('files', '[ab].*') WHERE error IS NULL;
SELECT name, sum(v) FROM img_files('files', 'a.*'), pixels(image) GROUP BY name;
SELECT name, max(h.count), max(mean) FROM img_files('files', 'a.*'), histogram(image, 2) h, img_stats_of(image);
SELECT name FROM img_files('files') WHERE img_valid(image) ORDER BY name DESC;
SELECT count(*) FROM img_files(NULL);
SELECT * FROM img_files('nowhere');
SELECT * FROM img_files;

.print a folder as a table, in temp only, with deferred images
CREATE VIRTUAL TABLE temp.album USING imgpar_folder(dir='files', glob='[ab].*');
SELECT name, width, img_format(image), hex(raw(img_invert(image))) FROM album;
CREATE VIRTUAL TABLE temp.deep USING imgpar_folder(dir = "files", recursive = 1);
SELECT count(*), sum(error IS NULL) FROM deep;
CREATE VIRTUAL TABLE album2 USING imgpar_folder(dir='files');
CREATE VIRTUAL TABLE temp.album2 USING imgpar_folder(glob='*');
CREATE VIRTUAL TABLE temp.album2 USING imgpar_folder(dir='files', depth=3);
SELECT * FROM imgpar_folder;

.print errors
SELECT * FROM t, pixels(img, 'a') WHERE id = 1;
SELECT * FROM img_tiles((SELECT img FROM t), 0, 2);
SELECT * FROM img_tiles((SELECT img FROM t), 2);
SELECT * FROM pixels(7);
SELECT * FROM m, img_regions(mask, mask, 6);
SELECT * FROM m, img_regions(mask, img_transpose(mask));
SELECT * FROM t, img_regions(img) WHERE id = 2;
.print a deferred image of damaged bytes fails where it is computed, and the message tells its way there
SELECT img_format(img_invert(blur(lazy(x'0102'), 1)));
SELECT length(img_invert(blur(lazy(x'0102'), 1))) > 80;
SELECT png(img_invert(blur(lazy(x'0102'), 1)));
SELECT png(apply('blur($1, 1)', lazy(x'0102')));
SELECT img_mean(blur(lazy(x'0102'), 1));

.print pixels and histogram under names with the prefix
SELECT x, y, v FROM img_pixels(apply('make(4, 3, x + y)')) WHERE y = 1 AND x < 2;
SELECT bin, count FROM img_histogram(apply('make(4, 3, x + y)'), 4) WHERE count > 0;
.print stats of 64 bits: 2^60 and 2^60 + 1; 2^63 - 1 of u64; what INTEGER does not hold is the nearest REAL
SELECT min, max, sum, typeof(sum) FROM img_stats_of(apply('(ones([1, 2], dtype=i64) << 60) + x'));
SELECT min, max, sum FROM img_stats_of(apply('-(ones([1, 2], dtype=i64) << 60) - x'));
SELECT min, max, sum FROM img_stats_of(apply('~zeros([1, 2, 3], dtype=u64) >> cast(c + 1, u64)'));
SELECT min, max, sum = 9223372036854775808.0, typeof(max) FROM img_stats_of(apply('numbers([0 3], dtype=u64) << 63'));
SELECT min, max, sum FROM img_stats_of(apply('ones([1, 5000], dtype=i32) * 2000000001'));
