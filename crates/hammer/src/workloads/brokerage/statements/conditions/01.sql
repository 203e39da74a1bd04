-- B_NUM_TRADES equals the number of completed trades of the broker's accounts
SELECT concat('broker ', broker, ': B_NUM_TRADES differs by ', sum(trades))
FROM (
    SELECT b_id AS broker, b_num_trades AS trades FROM broker
    UNION ALL
    SELECT ca_b_id, -count(*) FROM trade JOIN customer_account ON ca_id = t_ca_id
    WHERE t_st_id = 'CMPT' GROUP BY ca_b_id
) AS parts
GROUP BY broker HAVING sum(trades) <> 0
