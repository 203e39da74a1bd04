-- Rows are only ever appended. The specification gives this table no key; without one InnoDB numbers the
-- rows of all such tables by one counter, and some servers refuse the table. No two payments have one date.
CREATE TABLE history (
    h_date DATETIME(6) NOT NULL,
    h_c_w_id INT NOT NULL,
    h_c_id INT NOT NULL,
    h_w_id INT NOT NULL,
    h_c_d_id SMALLINT NOT NULL,
    h_d_id SMALLINT NOT NULL,
    h_amount DECIMAL(6,2) NOT NULL,
    h_data VARCHAR(24) NOT NULL,
    PRIMARY KEY (h_date, h_c_w_id, h_c_d_id, h_c_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET latin1 COLLATE latin1_bin;
