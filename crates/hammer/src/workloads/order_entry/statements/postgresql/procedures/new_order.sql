-- One new order (clause 2.4). The hammer drew everything; the lines come sorted by supplying
-- warehouse and item, so that two orders take the locks on stock in the same order.
-- A pass holds every item at most once: an item that is ordered twice is in pass 0 and in pass 1, as
-- one UPDATE changes a row only once.
-- A line is of a brand where the texts of item and stock both say ORIGINAL, else generic: bit n - 1 of
-- brand_lines is set where line n is of a brand.
-- An unused item leaves order_id null, and the caller rolls back; p_unused says that it is ready to.
CREATE OR REPLACE FUNCTION new_order(
    p_w_id integer, p_d_id smallint, p_c_id integer, p_entry_d timestamptz, p_all_local smallint,
    p_items integer[], p_supplies integer[], p_quantities smallint[],
    p_passes smallint[], p_last_pass smallint, p_unused boolean,
    OUT order_id integer, OUT total numeric, OUT brand_lines integer
) LANGUAGE plpgsql AS $$
DECLARE
    lines smallint := cardinality(p_items);
    found_lines smallint := 0;
    discount numeric;
    w_rate numeric;
    d_rate numeric;
    pass_lines smallint;
    pass_amount numeric;
    pass_brands integer;
    amount numeric := 0;
BEGIN
    UPDATE district SET d_next_o_id = d_next_o_id + 1
     WHERE d_w_id = p_w_id AND d_id = p_d_id
    RETURNING d_next_o_id - 1, d_tax INTO order_id, d_rate;

    SELECT c_discount, w_tax INTO discount, w_rate
      FROM customer, warehouse
     WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = p_c_id AND w_id = p_w_id;

    INSERT INTO orders (o_entry_d, o_w_id, o_id, o_c_id, o_d_id, o_ol_cnt, o_all_local)
    VALUES (p_entry_d, p_w_id, order_id, p_c_id, p_d_id, lines, p_all_local);

    INSERT INTO new_order (no_w_id, no_o_id, no_d_id) VALUES (p_w_id, order_id, p_d_id);

    brand_lines := 0;
    FOR this_pass IN 0..p_last_pass LOOP
        WITH taken AS (
            UPDATE stock
               SET s_quantity = CASE WHEN s_quantity >= line.quantity + 10
                                     THEN s_quantity - line.quantity
                                     ELSE s_quantity - line.quantity + 91 END,
                   s_ytd = s_ytd + line.quantity,
                   s_order_cnt = s_order_cnt + 1,
                   s_remote_cnt = s_remote_cnt + (line.supply <> p_w_id)::integer
              FROM unnest(p_items, p_supplies, p_quantities, p_passes)
                   WITH ORDINALITY AS line (item, supply, quantity, pass, number)
                   JOIN item ON i_id = line.item
             WHERE line.pass = this_pass AND s_w_id = line.supply AND s_i_id = line.item
            RETURNING line.number, line.item, line.supply, line.quantity,
                      i_price * line.quantity AS amount,
                      CASE p_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                                  WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                                  WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                                  ELSE s_dist_10 END AS dist_info,
                      CASE WHEN s_data LIKE '%ORIGINAL%' AND i_data LIKE '%ORIGINAL%'
                           THEN 1 << (line.number::integer - 1) ELSE 0 END AS brand
        ), written AS (
            INSERT INTO order_line (ol_w_id, ol_o_id, ol_i_id, ol_supply_w_id, ol_d_id, ol_number,
                                    ol_quantity, ol_amount, ol_dist_info)
            SELECT p_w_id, order_id, taken.item, taken.supply, p_d_id, taken.number, taken.quantity,
                   taken.amount, taken.dist_info
              FROM taken
        )
        SELECT count(*), coalesce(sum(taken.amount), 0), coalesce(bit_or(brand), 0)
          INTO pass_lines, pass_amount, pass_brands
          FROM taken;
        found_lines := found_lines + pass_lines;
        amount := amount + pass_amount;
        brand_lines := brand_lines | pass_brands;
    END LOOP;

    IF found_lines < lines THEN
        IF NOT p_unused THEN
            RAISE EXCEPTION 'an item or its stock is missing: % of % lines found',
                            found_lines, lines;
        END IF;
        order_id := NULL;
    END IF;
    total := amount * (1 - discount) * (1 + w_rate + d_rate);
END
$$;
