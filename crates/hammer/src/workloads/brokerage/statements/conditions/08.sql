-- T_ST_ID and T_DTS are those of the trade's last history row, and a completed trade has two, or three with a limit
SELECT concat('trade ', t_id, ': status ', t_st_id, ', ', states, ' history rows')
FROM trade JOIN trade_type ON tt_id = t_tt_id
LEFT JOIN (
    SELECT th_t_id AS trade_id, count(*) AS states, max(th_dts) AS last_dts FROM trade_history GROUP BY th_t_id
) AS history ON trade_id = t_id
LEFT JOIN trade_history ON th_t_id = t_id AND th_st_id = t_st_id
WHERE th_t_id IS NULL OR th_dts <> last_dts OR t_dts <> th_dts OR (t_st_id = 'CMPT' AND states <> 3 - tt_is_mrkt)
