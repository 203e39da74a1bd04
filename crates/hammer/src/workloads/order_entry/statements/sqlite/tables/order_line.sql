CREATE TABLE order_line (
    ol_delivery_d INTEGER,
    ol_w_id INTEGER NOT NULL,
    ol_o_id INTEGER NOT NULL,
    ol_i_id INTEGER NOT NULL,
    ol_supply_w_id INTEGER NOT NULL,
    ol_d_id INTEGER NOT NULL,
    ol_number INTEGER NOT NULL,
    ol_quantity INTEGER NOT NULL,
    ol_amount INTEGER NOT NULL,
    ol_dist_info TEXT NOT NULL,
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
) STRICT, WITHOUT ROWID;
