-- The index answers "the last order of this customer".
CREATE TABLE orders (
    o_entry_d INTEGER NOT NULL,
    o_w_id INTEGER NOT NULL,
    o_id INTEGER NOT NULL,
    o_c_id INTEGER NOT NULL,
    o_d_id INTEGER NOT NULL,
    o_ol_cnt INTEGER NOT NULL,
    o_all_local INTEGER NOT NULL,
    o_carrier_id INTEGER,
    PRIMARY KEY (o_w_id, o_d_id, o_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
