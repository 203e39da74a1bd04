-- A queue: orders that wait for delivery.
CREATE TABLE new_order (
    no_w_id INT NOT NULL,
    no_o_id INT NOT NULL,
    no_d_id SMALLINT NOT NULL,
    PRIMARY KEY CLUSTERED (no_w_id, no_d_id, no_o_id)
);
ALTER TABLE new_order SET (LOCK_ESCALATION = DISABLE);
