-- How many orders there are of lists of warehouses, districts and dates.
SELECT COUNT(*)
  FROM JSON_TABLE(?1, '$[*]' COLUMNS (number FOR ORDINALITY, w_id INT PATH '$')) AS sent
       STRAIGHT_JOIN orders ON o_w_id = sent.w_id
   AND o_d_id = CAST(JSON_EXTRACT(?2, CONCAT('$[', sent.number - 1, ']')) AS SIGNED)
   AND o_entry_d = TIMESTAMP'2000-01-01 00:00:00'
       + INTERVAL CAST(JSON_EXTRACT(?3, CONCAT('$[', sent.number - 1, ']')) AS SIGNED) MICROSECOND
