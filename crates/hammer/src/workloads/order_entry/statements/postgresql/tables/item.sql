-- The same 100000 items whatever the number of warehouses; never changed after loading.
CREATE TABLE item (
    i_id integer NOT NULL,
    i_im_id integer NOT NULL,
    i_price numeric(5,2) NOT NULL,
    i_name varchar(24) NOT NULL,
    i_data varchar(50) NOT NULL
);
CREATE UNIQUE INDEX item_pkey ON item (i_id);
ALTER TABLE item ADD CONSTRAINT item_pkey PRIMARY KEY USING INDEX item_pkey;
