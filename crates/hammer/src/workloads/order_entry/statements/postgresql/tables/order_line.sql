-- By far the most rows, so the columns are ordered to lose no bytes to alignment.
CREATE TABLE order_line (
    ol_delivery_d timestamptz,
    ol_w_id integer NOT NULL,
    ol_o_id integer NOT NULL,
    ol_i_id integer NOT NULL,
    ol_supply_w_id integer NOT NULL,
    ol_d_id smallint NOT NULL,
    ol_number smallint NOT NULL,
    ol_quantity smallint NOT NULL,
    ol_amount numeric(6,2) NOT NULL,
    ol_dist_info char(24) NOT NULL
);
CREATE UNIQUE INDEX order_line_pkey ON order_line (ol_w_id, ol_d_id, ol_o_id, ol_number);
ALTER TABLE order_line ADD CONSTRAINT order_line_pkey PRIMARY KEY USING INDEX order_line_pkey;
