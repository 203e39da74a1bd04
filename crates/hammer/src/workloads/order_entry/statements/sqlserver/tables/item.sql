-- The same 100000 items whatever the number of warehouses; never changed after loading.
CREATE TABLE item (
    i_id INT NOT NULL,
    i_im_id INT NOT NULL,
    i_price DECIMAL(5,2) NOT NULL,
    i_name VARCHAR(24) NOT NULL,
    i_data VARCHAR(50) NOT NULL,
    PRIMARY KEY CLUSTERED (i_id)
);
ALTER TABLE item SET (LOCK_ESCALATION = DISABLE);
