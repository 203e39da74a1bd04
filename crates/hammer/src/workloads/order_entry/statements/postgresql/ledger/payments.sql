-- Payments dated within two bounds, by date: microseconds since the start of 2000, UTC.
SELECT (extract(epoch FROM h_date) * 1000000)::bigint - 946684800000000, h_d_id, h_w_id, 0,
       (h_amount * 100)::integer
  FROM history
 WHERE h_date >= timestamptz '2000-01-01 00:00:00+00' + $1::bigint * interval '1 microsecond'
   AND h_date <= timestamptz '2000-01-01 00:00:00+00' + $2::bigint * interval '1 microsecond'
 ORDER BY 1
