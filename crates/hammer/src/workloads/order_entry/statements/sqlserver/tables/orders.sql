-- The index answers "the last order of this customer".
CREATE TABLE orders (
    o_entry_d DATETIME2(6) NOT NULL,
    o_w_id INT NOT NULL,
    o_id INT NOT NULL,
    o_c_id INT NOT NULL,
    o_d_id SMALLINT NOT NULL,
    o_ol_cnt SMALLINT NOT NULL,
    o_all_local SMALLINT NOT NULL,
    o_carrier_id SMALLINT,
    PRIMARY KEY CLUSTERED (o_w_id, o_d_id, o_id)
);
CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
ALTER TABLE orders SET (LOCK_ESCALATION = DISABLE);
