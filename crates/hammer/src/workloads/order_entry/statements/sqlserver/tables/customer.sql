-- The database's collation compares texts byte by byte, so that "the middle one by first name" is the same
-- customer on every engine, and has one byte a character. The key is where the rows lie.
CREATE TABLE customer (
    c_since DATETIME2(6) NOT NULL,
    c_w_id INT NOT NULL,
    c_id INT NOT NULL,
    c_payment_cnt INT NOT NULL,
    c_delivery_cnt INT NOT NULL,
    c_d_id SMALLINT NOT NULL,
    c_discount DECIMAL(4,4) NOT NULL,
    c_credit_lim DECIMAL(12,2) NOT NULL,
    c_balance DECIMAL(12,2) NOT NULL,
    c_ytd_payment DECIMAL(12,2) NOT NULL,
    c_credit CHAR(2) NOT NULL,
    c_last VARCHAR(16) NOT NULL,
    c_first VARCHAR(16) NOT NULL,
    c_middle CHAR(2) NOT NULL,
    c_street_1 VARCHAR(20) NOT NULL,
    c_street_2 VARCHAR(20) NOT NULL,
    c_city VARCHAR(20) NOT NULL,
    c_state CHAR(2) NOT NULL,
    c_zip CHAR(9) NOT NULL,
    c_phone CHAR(16) NOT NULL,
    c_data VARCHAR(500) NOT NULL,
    PRIMARY KEY CLUSTERED (c_w_id, c_d_id, c_id)
);
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first);
ALTER TABLE customer SET (LOCK_ESCALATION = DISABLE);
