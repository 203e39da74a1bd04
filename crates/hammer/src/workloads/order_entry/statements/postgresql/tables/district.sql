-- Every new order and every payment updates its row: room for new row versions as in warehouse.
CREATE TABLE district (
    d_w_id integer NOT NULL,
    d_next_o_id integer NOT NULL,
    d_id smallint NOT NULL,
    d_tax numeric(4,4) NOT NULL,
    d_ytd numeric(12,2) NOT NULL,
    d_name varchar(10) NOT NULL,
    d_street_1 varchar(20) NOT NULL,
    d_street_2 varchar(20) NOT NULL,
    d_city varchar(20) NOT NULL,
    d_state char(2) NOT NULL,
    d_zip char(9) NOT NULL
) WITH (fillfactor = 15);
CREATE UNIQUE INDEX district_pkey ON district (d_w_id, d_id);
ALTER TABLE district ADD CONSTRAINT district_pkey PRIMARY KEY USING INDEX district_pkey;
