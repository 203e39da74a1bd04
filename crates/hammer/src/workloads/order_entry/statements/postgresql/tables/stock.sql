-- One free row version a page keeps the first new order of a page from touching the index.
CREATE TABLE stock (
    s_w_id integer NOT NULL,
    s_i_id integer NOT NULL,
    s_ytd integer NOT NULL,
    s_order_cnt integer NOT NULL,
    s_remote_cnt integer NOT NULL,
    s_quantity smallint NOT NULL,
    s_dist_01 char(24) NOT NULL,
    s_dist_02 char(24) NOT NULL,
    s_dist_03 char(24) NOT NULL,
    s_dist_04 char(24) NOT NULL,
    s_dist_05 char(24) NOT NULL,
    s_dist_06 char(24) NOT NULL,
    s_dist_07 char(24) NOT NULL,
    s_dist_08 char(24) NOT NULL,
    s_dist_09 char(24) NOT NULL,
    s_dist_10 char(24) NOT NULL,
    s_data varchar(50) NOT NULL
) WITH (fillfactor = 95);
CREATE UNIQUE INDEX stock_pkey ON stock (s_w_id, s_i_id);
ALTER TABLE stock ADD CONSTRAINT stock_pkey PRIMARY KEY USING INDEX stock_pkey;
