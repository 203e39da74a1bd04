-- A trade has a request if and only if it is pending, with its type, symbol, quantity, bid and broker
SELECT concat('trade ', t_id, ': status ', t_st_id, ', its request differs')
FROM trade_request JOIN trade ON t_id = tr_t_id JOIN customer_account ON ca_id = t_ca_id
WHERE t_st_id <> 'PNDG' OR tr_tt_id <> t_tt_id OR tr_s_symb <> t_s_symb OR tr_qty <> t_qty
   OR tr_bid_price <> t_bid_price OR tr_b_id <> ca_b_id
UNION ALL
SELECT concat('trade ', t_id, ': pending without a request')
FROM trade LEFT JOIN trade_request ON tr_t_id = t_id
WHERE t_st_id = 'PNDG' AND tr_t_id IS NULL
