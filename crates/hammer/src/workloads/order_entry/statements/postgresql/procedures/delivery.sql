-- The oldest waiting order of each of the ten districts of a warehouse is delivered (clause 2.7).
-- Gives the number of orders. Another delivery on the same warehouse may take an order from under this
-- one, which then waits and finds it gone: the districts left are tried again, until none has an
-- order. Skipping locked rows instead could leave a hole in the queue.
CREATE OR REPLACE FUNCTION delivery(p_w_id integer, p_carrier_id smallint, p_delivery_d timestamptz)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    left_d_ids smallint[] := '{1,2,3,4,5,6,7,8,9,10}';
    d_ids smallint[];
    o_ids integer[];
    delivered integer := 0;
BEGIN
    LOOP
        WITH gone AS (
            DELETE FROM new_order AS waiting
             USING unnest(left_d_ids) AS district (id)
             WHERE no_w_id = p_w_id AND no_d_id = district.id
               AND no_o_id = (SELECT oldest.no_o_id
                                FROM new_order AS oldest
                               WHERE oldest.no_w_id = p_w_id AND oldest.no_d_id = district.id
                               ORDER BY oldest.no_o_id LIMIT 1)
            RETURNING no_d_id, no_o_id
        )
        SELECT array_agg(no_d_id), array_agg(no_o_id) INTO d_ids, o_ids FROM gone;
        EXIT WHEN d_ids IS NULL;

        WITH carried AS (
            UPDATE orders SET o_carrier_id = p_carrier_id
              FROM unnest(d_ids, o_ids) AS taken (d_id, o_id)
             WHERE o_w_id = p_w_id AND o_d_id = taken.d_id AND orders.o_id = taken.o_id
            RETURNING o_d_id, o_c_id
        ), dated AS (
            UPDATE order_line SET ol_delivery_d = p_delivery_d
              FROM unnest(d_ids, o_ids) AS taken (d_id, o_id)
             WHERE ol_w_id = p_w_id AND ol_d_id = taken.d_id AND ol_o_id = taken.o_id
            RETURNING ol_d_id, ol_amount
        ), due AS (
            SELECT ol_d_id, sum(ol_amount) AS amount FROM dated GROUP BY ol_d_id
        )
        UPDATE customer
           SET c_balance = c_balance + due.amount, c_delivery_cnt = c_delivery_cnt + 1
          FROM carried JOIN due ON ol_d_id = o_d_id
         WHERE c_w_id = p_w_id AND c_d_id = o_d_id AND c_id = o_c_id;

        delivered := delivered + cardinality(d_ids);
        EXIT WHEN delivered = 10;
        left_d_ids := ARRAY(SELECT unnest(left_d_ids) EXCEPT SELECT unnest(d_ids) ORDER BY 1);
    END LOOP;
    RETURN delivered;
END
$$;
