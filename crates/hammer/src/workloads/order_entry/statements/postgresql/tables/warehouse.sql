-- Every payment updates its row: pages are left mostly empty, so that new row versions stay on the
-- page (no index is touched) and warehouses do not wait for each other's page.
CREATE TABLE warehouse (
    w_id integer NOT NULL,
    w_tax numeric(4,4) NOT NULL,
    w_ytd numeric(12,2) NOT NULL,
    w_name varchar(10) NOT NULL,
    w_street_1 varchar(20) NOT NULL,
    w_street_2 varchar(20) NOT NULL,
    w_city varchar(20) NOT NULL,
    w_state char(2) NOT NULL,
    w_zip char(9) NOT NULL
) WITH (fillfactor = 10);
CREATE UNIQUE INDEX warehouse_pkey ON warehouse (w_id);
ALTER TABLE warehouse ADD CONSTRAINT warehouse_pkey PRIMARY KEY USING INDEX warehouse_pkey;
