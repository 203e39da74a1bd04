-- Texts are compared byte by byte. The key is where the rows lie.
CREATE TABLE customer (
    c_since INTEGER NOT NULL,
    c_w_id INTEGER NOT NULL,
    c_id INTEGER NOT NULL,
    c_payment_cnt INTEGER NOT NULL,
    c_delivery_cnt INTEGER NOT NULL,
    c_d_id INTEGER NOT NULL,
    c_discount INTEGER NOT NULL,
    c_credit_lim INTEGER NOT NULL,
    c_balance INTEGER NOT NULL,
    c_ytd_payment INTEGER NOT NULL,
    c_credit TEXT NOT NULL,
    c_last TEXT NOT NULL,
    c_first TEXT NOT NULL,
    c_middle TEXT NOT NULL,
    c_street_1 TEXT NOT NULL,
    c_street_2 TEXT NOT NULL,
    c_city TEXT NOT NULL,
    c_state TEXT NOT NULL,
    c_zip TEXT NOT NULL,
    c_phone TEXT NOT NULL,
    c_data TEXT NOT NULL,
    PRIMARY KEY (c_w_id, c_d_id, c_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first);
