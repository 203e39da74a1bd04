-- The changes of a holding follow each other from 0, and the last one leaves H_QTY, or 0
SELECT concat('holding ', holding, ' changed by trade ', hh_t_id, ': ', hh_before_qty, ' after ', before_it)
FROM (
    SELECT hh_h_t_id AS holding, hh_t_id, hh_before_qty, lag(hh_after_qty) OVER (
        PARTITION BY hh_h_t_id ORDER BY CASE WHEN hh_t_id = hh_h_t_id THEN 0 ELSE 1 END, abs(hh_before_qty) DESC
    ) AS before_it
    FROM holding_history
) AS chain
WHERE hh_before_qty <> coalesce(before_it, 0)
UNION ALL
SELECT concat('holding ', holding, ': H_QTY differs by ', sum(quantity))
FROM (
    SELECT hh_h_t_id AS holding, hh_after_qty - hh_before_qty AS quantity FROM holding_history
    UNION ALL
    SELECT h_t_id, -h_qty FROM holding
) AS parts
GROUP BY holding HAVING sum(quantity) <> 0
