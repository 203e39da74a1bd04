-- Names are compared byte by byte, so that "the middle one by first name" is the same customer
-- whatever the database's locale. One free row version a page keeps the first payment of a page
-- from touching the indexes.
CREATE TABLE customer (
    c_since timestamptz NOT NULL,
    c_w_id integer NOT NULL,
    c_id integer NOT NULL,
    c_payment_cnt integer NOT NULL,
    c_delivery_cnt integer NOT NULL,
    c_d_id smallint NOT NULL,
    c_discount numeric(4,4) NOT NULL,
    c_credit_lim numeric(12,2) NOT NULL,
    c_balance numeric(12,2) NOT NULL,
    c_ytd_payment numeric(12,2) NOT NULL,
    c_credit char(2) NOT NULL,
    c_last varchar(16) COLLATE "C" NOT NULL,
    c_first varchar(16) COLLATE "C" NOT NULL,
    c_middle char(2) NOT NULL,
    c_street_1 varchar(20) NOT NULL,
    c_street_2 varchar(20) NOT NULL,
    c_city varchar(20) NOT NULL,
    c_state char(2) NOT NULL,
    c_zip char(9) NOT NULL,
    c_phone char(16) NOT NULL,
    c_data varchar(500) NOT NULL
) WITH (fillfactor = 90);
CREATE UNIQUE INDEX customer_pkey ON customer (c_w_id, c_d_id, c_id);
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first);
ALTER TABLE customer ADD CONSTRAINT customer_pkey PRIMARY KEY USING INDEX customer_pkey;
