-- B_COMM_TOTAL equals the sum of T_COMM of the completed trades of the broker's accounts
SELECT concat('broker ', broker, ': B_COMM_TOTAL differs by ', sum(commission))
FROM (
    SELECT b_id AS broker, b_comm_total AS commission FROM broker
    UNION ALL
    SELECT ca_b_id, -sum(t_comm) FROM trade JOIN customer_account ON ca_id = t_ca_id
    WHERE t_st_id = 'CMPT' GROUP BY ca_b_id
) AS parts
GROUP BY broker HAVING sum(commission) <> 0
