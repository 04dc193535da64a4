-- SPDX-License-Identifier: MIT
-- Conway's game of life on a torus, as life.conf: a grid is an image like any other.
--
--     sqlite3 -cmd ".load imgpar" < life.sql                            writes life-sql.png
CREATE TEMP TABLE life AS SELECT apply('random([256 256], seed=7) < 0.3') AS grid;

UPDATE life SET grid = apply('
  fn alive(a) = stencil(a[-1,-1] + a[-1,0] + a[-1,1] + a[0,-1] + a[0,1] + a[1,-1] + a[1,0] + a[1,1], border=wrap)
  fn survives(a, n) = n == 3 || a && n == 2
  iterate($1 > 0, 200, a -> survives(a, alive(a)))', grid);

SELECT writefile('life-sql.png', png(apply('repeat(repeat($1 > 0, 2), 2, axis=1)', grid))) || ' bytes' FROM life;
