-- A queue: orders that wait for delivery.
CREATE TABLE new_order (
    no_w_id integer NOT NULL,
    no_o_id integer NOT NULL,
    no_d_id smallint NOT NULL
);
CREATE UNIQUE INDEX new_order_pkey ON new_order (no_w_id, no_d_id, no_o_id);
ALTER TABLE new_order ADD CONSTRAINT new_order_pkey PRIMARY KEY USING INDEX new_order_pkey;
