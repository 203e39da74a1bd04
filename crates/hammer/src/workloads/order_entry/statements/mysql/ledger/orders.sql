-- Orders dated within two bounds, by date: microseconds since the start of 2000, UTC.
SELECT TIMESTAMPDIFF(MICROSECOND, '2000-01-01', o_entry_d), o_d_id, o_w_id, o_id, 0
  FROM orders
 WHERE o_entry_d >= TIMESTAMP'2000-01-01 00:00:00' + INTERVAL ?1 MICROSECOND
   AND o_entry_d <= TIMESTAMP'2000-01-01 00:00:00' + INTERVAL ?2 MICROSECOND
 ORDER BY 1
