-- Every summary has holdings, all of one sign, and no HS_QTY or H_QTY is 0
SELECT concat('account ', hs_ca_id, ' security ', hs_s_symb, ': HS_QTY ', hs_qty, ', H_QTY from ', least_qty,
    ' to ', most_qty)
FROM holding_summary
LEFT JOIN (
    SELECT h_ca_id, h_s_symb, min(h_qty) AS least_qty, max(h_qty) AS most_qty FROM holding
    GROUP BY h_ca_id, h_s_symb
) AS held ON h_ca_id = hs_ca_id AND h_s_symb = hs_s_symb
WHERE hs_qty = 0 OR least_qty IS NULL OR least_qty = 0 OR most_qty = 0 OR (least_qty < 0 AND most_qty > 0)
