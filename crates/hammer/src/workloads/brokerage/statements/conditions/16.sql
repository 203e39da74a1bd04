-- There are as many settlements as brokers have completed trades
SELECT concat(settled, ' settlements, B_NUM_TRADES ', completed)
FROM (SELECT count(*) AS settled FROM settlement) AS s, (SELECT sum(b_num_trades) AS completed FROM broker) AS b
WHERE settled <> completed
