-- SPDX-License-Identifier: MIT
-- Tables: histogram, img_explain, img_ops, img_counters, img_settings.
CREATE TABLE t(id INTEGER PRIMARY KEY, img BLOB);
INSERT INTO t VALUES (1, CAST('P5 4 3 255' || char(10) || 'AAAABBBBCC~~' AS BLOB)),
                     (2, CAST('P6 2 1 255' || char(10) || 'RGBRgb' AS BLOB)),
                     (3, NULL);

.print histogram: one row a channel and bin
SELECT channel, bin, lo, hi, count, round(percent, 3) FROM t, histogram(img) WHERE id = 1 AND count > 0;
SELECT count(*), sum(count), round(sum(percent), 6) FROM t, histogram(img) WHERE id = 1;
SELECT channel, bin, lo, hi, count FROM t, histogram(img, 4) WHERE id = 1;
SELECT channel, bin, count FROM t, histogram(img, 256, 1) WHERE id = 2 AND count > 0;
SELECT id, channel, bin, count FROM t LEFT JOIN histogram(img) h ON h.count > 0 ORDER BY id, channel, bin;
SELECT sum(count) FROM histogram(NULL);

.print of a deferred image the same
SELECT group_concat(bin || ':' || count, ' ') FROM t, histogram(img_invert(lazy(img))) WHERE id = 1 AND count > 0;
SELECT group_concat(bin || ':' || count, ' ') FROM t, histogram(img_invert(img)) WHERE id = 1 AND count > 0;

.print a nested deferred form is one kernel
SELECT count(*), sum(bytes_read > 0), sum(bytes_written > 0)
  FROM t, img_explain(blend(blur(lazy(img), 1), img_invert(img), 0.5)) WHERE id = 1;

.print it decodes once, runs once and encodes once; the plain form each time
CREATE TEMP TABLE before AS SELECT * FROM img_counters;
SELECT length(png(img_invert(boxblur(boxblur(lazy(img), 3), 3)))) > 0 FROM t WHERE id = 1;
SELECT c.name, c.value - b.value FROM img_counters c JOIN before b USING (name)
  WHERE name IN ('evaluations', 'decodes', 'encodes') ORDER BY 1;
DROP TABLE before;
CREATE TEMP TABLE before AS SELECT * FROM img_counters;
SELECT length(img_invert(boxblur(boxblur(img, 3), 3))) > 0 FROM t WHERE id = 1;
SELECT c.name, c.value - b.value FROM img_counters c JOIN before b USING (name)
  WHERE name IN ('evaluations', 'decodes', 'encodes') ORDER BY 1;

.print the catalogue
SELECT name, sql_name, inputs, json_extract(params, '$[0].name'), returns_number FROM img_ops WHERE name IN ('blur', 'add', 'mean') ORDER BY name;
SELECT count(*) FROM img_ops WHERE json_valid(params) = 0 OR summary IS NULL OR example IS NULL;
SELECT 'no function of ' || sql_name FROM img_ops WHERE sql_name NOT IN (SELECT name FROM pragma_function_list);
SELECT 'wrong flag on ' || o.name FROM img_ops o JOIN pragma_function_list f ON f.name = 'img_' || o.name
  WHERE ((f.flags & 0x800) <> 0) <> o.same_bytes;

.print settings belong to the connection
SELECT name, value FROM img_settings WHERE name IN ('schedule', 'fuse') ORDER BY 1;
SELECT img_setting('schedule', 'pixels'), img_setting('fuse', '0');
SELECT name, value, origin FROM img_settings WHERE name IN ('schedule', 'fuse') ORDER BY 1;
SELECT DISTINCT schedule FROM t, img_explain(blur(lazy(img), 1)) WHERE id = 1;
SELECT count(*) > 0, sum(kind = 'ref') FROM img_devices;
SELECT selector, vendor, extensions, address_bits IN (32, 64), is_available FROM img_devices WHERE kind = 'ref';
SELECT img_setting('device', 'ref');
SELECT hex(raw(img_invert(lazy(img)))) FROM t WHERE id = 2;

.print what a camera wrote: the file's, and of what was computed that of the finished file
CREATE TABLE photo(img BLOB);
INSERT INTO photo VALUES (x'89504e470d0a1a0a0000000d49484452000000020000000108020000007b40e8dd0000000f49444154789c636060646266610500002a00101acc8c24000000c0655849664d4d002a00000008000401100002000000050000008601120003000000010006000087690004000000010000003e882500040000000100000068000000000003829a0005000000010000008c8827000300000001019000009003000200000014000000940000000000020001000200000002530000000002000500000003000000a8000000004e696e65000000000001000000fa323032343a30353a30362030373a30383a3039000000002100000001000000330000000100000024000000016aac07dc0000000049454e44ae426082');
SELECT img_exif(img, 'Model'), img_exif(img, 'DateTimeOriginal'), img_exif(img, 'exposuretime'), img_exif(img, 'ISO'),
       img_exif(img, 'GPSLatitude'), typeof(img_exif(img, 'ISO')), img_exif(img, 'LensModel') IS NULL FROM photo;
SELECT img_exif(img, 'Orientation'), img_exif(lazy(img), 'Orientation'), img_exif(img_invert(img), 'Orientation'),
       img_exif(img_invert(lazy(img)), 'Model') FROM photo;
SELECT tag, value, directory FROM photo, img_exif(img);
SELECT count(*) FROM t, img_exif(img);
SELECT img_exif(img, 'DateTaken') FROM photo;
.print a misspelt tag is an error, one that is never told is NULL
SELECT img_exif(img, 'MakerNote') IS NULL, img_exif(img, 'StripOffsets') IS NULL, img_exif(img, '0x927c') IS NULL,
       img_exif(img, 'SpatialFrequencyResponse') IS NULL, img_exif(img, 'ISOSpeedRatings'), img_exif(img, '0x8827'),
       datetime(img_exif(img, 'DateTimeOriginal')) FROM photo;
SELECT img_exif(img, '0xffffffffffff') FROM photo;
SELECT img_exif(img, 34855) = img_exif(img, '0x8827'), img_exif(img, 37500) IS NULL FROM photo;
SELECT img_exif(img, 70000) FROM photo;
.print optional arguments from another table, in any order of the planner
CREATE TABLE several(b);
INSERT INTO several VALUES (4), (8);
SELECT s.b, count(*) FROM several AS s, histogram(apply('cast(make(4, 3, x + y), u8)'), s.b) GROUP BY 1;
SELECT s.b, r.mean FROM several AS s, img_regions(apply('make(2, 1, true)'), apply('make(2, 1, ' || s.b || ')')) AS r;
.print stacks keep the colour profile, of deferred images too
CREATE TABLE wide(img);
INSERT INTO wide VALUES (x'89504e470d0a1a0a0000000d49484452000000020000000108020000007b40e8dd000000206348524d00007a26000080840000fa00000080e8000052080001155800003a9800001770dc49d7780000000f49444154789c63e01291d330b20100023700d35b5651d80000000049454e44ae426082'), (x'89504e470d0a1a0a0000000d49484452000000020000000108020000007b40e8dd000000206348524d00007a26000080840000fa00000080e8000052080001155800003a9800001770dc49d7780000000f49444154789c63e01291d330b20100023700d35b5651d80000000049454e44ae426082');
SELECT instr(hex(img_stack_mean(img)), hex('cHRM')) > 0, instr(hex(png(img_stack_mean(lazy(img)))), hex('cHRM')) > 0,
       img_warning() FROM wide;
