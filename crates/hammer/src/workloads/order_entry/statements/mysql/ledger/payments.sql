-- Payments dated within two bounds, by date: microseconds since the start of 2000, UTC.
SELECT TIMESTAMPDIFF(MICROSECOND, '2000-01-01', h_date), h_d_id, h_w_id, 0, CAST(h_amount * 100 AS SIGNED)
  FROM history
 WHERE h_date >= TIMESTAMP'2000-01-01 00:00:00' + INTERVAL ?1 MICROSECOND
   AND h_date <= TIMESTAMP'2000-01-01 00:00:00' + INTERVAL ?2 MICROSECOND
 ORDER BY 1
