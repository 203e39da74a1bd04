-- What a completed trade changed of holdings adds up to T_QTY, below 0 for a sell
SELECT concat('trade ', trade_id, ': holdings differ by ', sum(quantity))
FROM (
    SELECT hh_t_id AS trade_id, hh_after_qty - hh_before_qty AS quantity FROM holding_history
    UNION ALL
    SELECT t_id, CASE tt_is_sell WHEN 1 THEN t_qty ELSE -t_qty END FROM trade JOIN trade_type ON tt_id = t_tt_id
    WHERE t_st_id = 'CMPT'
) AS parts
GROUP BY trade_id HAVING sum(quantity) <> 0
