-- CA_BAL equals the opening balance and the sum of CT_AMT of the account's trades
SELECT concat('account ', account, ': CA_BAL differs by ', sum(amount))
FROM (
    SELECT ca_id AS account, ca_bal - 100000.00 AS amount FROM customer_account
    UNION ALL
    SELECT t_ca_id, -sum(ct_amt) FROM cash_transaction JOIN trade ON t_id = ct_t_id GROUP BY t_ca_id
) AS parts
GROUP BY account HAVING sum(amount) <> 0
