-- Orders dated within two bounds, by date: microseconds since the start of 2000, UTC.
SELECT (extract(epoch FROM o_entry_d) * 1000000)::bigint - 946684800000000, o_d_id, o_w_id, o_id, 0
  FROM orders
 WHERE o_entry_d >= timestamptz '2000-01-01 00:00:00+00' + $1::bigint * interval '1 microsecond'
   AND o_entry_d <= timestamptz '2000-01-01 00:00:00+00' + $2::bigint * interval '1 microsecond'
 ORDER BY 1
