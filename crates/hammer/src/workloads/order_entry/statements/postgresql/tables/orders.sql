-- The second index answers "the last order of this customer".
CREATE TABLE orders (
    o_entry_d timestamptz NOT NULL,
    o_w_id integer NOT NULL,
    o_id integer NOT NULL,
    o_c_id integer NOT NULL,
    o_d_id smallint NOT NULL,
    o_ol_cnt smallint NOT NULL,
    o_all_local smallint NOT NULL,
    o_carrier_id smallint
);
CREATE UNIQUE INDEX orders_pkey ON orders (o_w_id, o_d_id, o_id);
CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
ALTER TABLE orders ADD CONSTRAINT orders_pkey PRIMARY KEY USING INDEX orders_pkey;
