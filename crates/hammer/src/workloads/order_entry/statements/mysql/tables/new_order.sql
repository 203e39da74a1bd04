-- A queue: orders that wait for delivery.
CREATE TABLE new_order (
    no_w_id INT NOT NULL,
    no_o_id INT NOT NULL,
    no_d_id SMALLINT NOT NULL,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET latin1 COLLATE latin1_bin;
