CREATE TABLE order_line (
    ol_delivery_d DATETIME2(6),
    ol_w_id INT NOT NULL,
    ol_o_id INT NOT NULL,
    ol_i_id INT NOT NULL,
    ol_supply_w_id INT NOT NULL,
    ol_d_id SMALLINT NOT NULL,
    ol_number SMALLINT NOT NULL,
    ol_quantity SMALLINT NOT NULL,
    ol_amount DECIMAL(6,2) NOT NULL,
    ol_dist_info CHAR(24) NOT NULL,
    PRIMARY KEY CLUSTERED (ol_w_id, ol_d_id, ol_o_id, ol_number)
);
ALTER TABLE order_line SET (LOCK_ESCALATION = DISABLE);
