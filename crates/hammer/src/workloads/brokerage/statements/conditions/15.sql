-- After loading, every company, security, customer and list has as many rows beside it as specified
SELECT concat('exchange ', ex_id, ': EX_NUM_SYMB ', ex_num_symb)
FROM exchange WHERE ex_num_symb <> (SELECT count(*) FROM security WHERE s_ex_id = ex_id)
UNION ALL
SELECT concat('company ', co_id, ': competitors, quarters or news are missing') FROM company
WHERE 3 <> (SELECT count(*) FROM company_competitor WHERE cp_co_id = co_id)
   OR 20 <> (SELECT count(*) FROM financial WHERE fi_co_id = co_id)
   OR 2 <> (SELECT count(*) FROM news_xref WHERE nx_co_id = co_id)
UNION ALL
SELECT concat('security ', s_symb, ': days or the last trade are missing') FROM security
WHERE 1305 <> (SELECT count(*) FROM daily_market WHERE dm_s_symb = s_symb)
   OR 1 <> (SELECT count(*) FROM last_trade WHERE lt_s_symb = s_symb)
UNION ALL
SELECT concat('customer ', c_id, ': tax rates, watch list or accounts are not as specified') FROM customer
WHERE 2 <> (SELECT count(*) FROM customer_taxrate WHERE cx_c_id = c_id)
   OR 1 <> (SELECT count(*) FROM watch_list WHERE wl_c_id = c_id)
   OR (SELECT count(*) FROM customer_account WHERE ca_c_id = c_id)
      NOT BETWEEN CASE c_tier WHEN 3 THEN 5 ELSE c_tier END AND CASE c_tier WHEN 3 THEN 10 ELSE 4 * c_tier END
UNION ALL
SELECT concat('watch list ', wl_id, ': too few or too many securities') FROM watch_list
WHERE (SELECT count(*) FROM watch_item WHERE wi_wl_id = wl_id) NOT BETWEEN 50 AND 150
UNION ALL
SELECT concat('trade request ', tr_t_id, ' before the first order') FROM trade_request
