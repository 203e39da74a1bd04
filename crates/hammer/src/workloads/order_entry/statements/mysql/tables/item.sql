-- The same 100000 items whatever the number of warehouses; never changed after loading.
CREATE TABLE item (
    i_id INT NOT NULL,
    i_im_id INT NOT NULL,
    i_price DECIMAL(5,2) NOT NULL,
    i_name VARCHAR(24) NOT NULL,
    i_data VARCHAR(50) NOT NULL,
    PRIMARY KEY (i_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET latin1 COLLATE latin1_bin;
