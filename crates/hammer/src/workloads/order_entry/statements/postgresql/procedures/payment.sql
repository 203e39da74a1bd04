-- One payment (clause 2.5), by a customer of any warehouse, chosen by number or, where that is null,
-- by last name: then the middle one by first name. Gives the customer's number and new balance, and
-- the addresses of customer, district and warehouse.
CREATE OR REPLACE FUNCTION payment(
    p_w_id integer, p_d_id smallint, p_c_w_id integer, p_c_d_id smallint, p_c_id integer,
    p_c_last varchar, p_amount numeric, p_date timestamptz,
    OUT customer_id integer, OUT balance numeric,
    OUT customer_street_1 varchar, OUT customer_street_2 varchar, OUT customer_city varchar,
    OUT customer_state char, OUT customer_zip char,
    OUT district_street_1 varchar, OUT district_street_2 varchar, OUT district_city varchar,
    OUT district_state char, OUT district_zip char,
    OUT warehouse_street_1 varchar, OUT warehouse_street_2 varchar, OUT warehouse_city varchar,
    OUT warehouse_state char, OUT warehouse_zip char
) LANGUAGE plpgsql AS $$
DECLARE
    w_label varchar;
    d_label varchar;
BEGIN
    customer_id := p_c_id;
    IF p_c_id IS NULL THEN
        SELECT (array_agg(c_id ORDER BY c_first))[(count(*) + 1) / 2] INTO customer_id
          FROM customer
         WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last;
    END IF;

    UPDATE customer
       SET c_balance = c_balance - p_amount,
           c_ytd_payment = c_ytd_payment + p_amount,
           c_payment_cnt = c_payment_cnt + 1,
           c_data = CASE c_credit
                    WHEN 'BC' THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, p_d_id, p_w_id, p_amount)
                                        || ' | ' || c_data, 500)
                    ELSE c_data END
     WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = customer_id
    RETURNING c_balance, c_street_1, c_street_2, c_city, c_state, c_zip
         INTO balance, customer_street_1, customer_street_2, customer_city, customer_state,
              customer_zip;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no customer % (name %) in district % of warehouse %',
                        p_c_id, p_c_last, p_c_d_id, p_c_w_id;
    END IF;

    UPDATE district SET d_ytd = d_ytd + p_amount
     WHERE d_w_id = p_w_id AND d_id = p_d_id
    RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip
         INTO d_label, district_street_1, district_street_2, district_city, district_state,
              district_zip;

    -- The row that most others wait for comes last, so that it is locked for the shortest time.
    UPDATE warehouse SET w_ytd = w_ytd + p_amount
     WHERE w_id = p_w_id
    RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip
         INTO w_label, warehouse_street_1, warehouse_street_2, warehouse_city, warehouse_state,
              warehouse_zip;

    INSERT INTO history (h_date, h_c_w_id, h_c_id, h_w_id, h_c_d_id, h_d_id, h_amount, h_data)
    VALUES (p_date, p_c_w_id, customer_id, p_w_id, p_c_d_id, p_d_id, p_amount,
            w_label || '    ' || d_label);
END
$$;
