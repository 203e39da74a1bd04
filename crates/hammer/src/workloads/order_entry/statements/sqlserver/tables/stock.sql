CREATE TABLE stock (
    s_w_id INT NOT NULL,
    s_i_id INT NOT NULL,
    s_ytd INT NOT NULL,
    s_order_cnt INT NOT NULL,
    s_remote_cnt INT NOT NULL,
    s_quantity SMALLINT NOT NULL,
    s_dist_01 CHAR(24) NOT NULL,
    s_dist_02 CHAR(24) NOT NULL,
    s_dist_03 CHAR(24) NOT NULL,
    s_dist_04 CHAR(24) NOT NULL,
    s_dist_05 CHAR(24) NOT NULL,
    s_dist_06 CHAR(24) NOT NULL,
    s_dist_07 CHAR(24) NOT NULL,
    s_dist_08 CHAR(24) NOT NULL,
    s_dist_09 CHAR(24) NOT NULL,
    s_dist_10 CHAR(24) NOT NULL,
    s_data VARCHAR(50) NOT NULL,
    PRIMARY KEY CLUSTERED (s_w_id, s_i_id)
);
ALTER TABLE stock SET (LOCK_ESCALATION = DISABLE);
