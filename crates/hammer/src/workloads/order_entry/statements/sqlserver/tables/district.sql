CREATE TABLE district (
    d_w_id INT NOT NULL,
    d_next_o_id INT NOT NULL,
    d_id SMALLINT NOT NULL,
    d_tax DECIMAL(4,4) NOT NULL,
    d_ytd DECIMAL(12,2) NOT NULL,
    d_name VARCHAR(10) NOT NULL,
    d_street_1 VARCHAR(20) NOT NULL,
    d_street_2 VARCHAR(20) NOT NULL,
    d_city VARCHAR(20) NOT NULL,
    d_state CHAR(2) NOT NULL,
    d_zip CHAR(9) NOT NULL,
    PRIMARY KEY CLUSTERED (d_w_id, d_id)
);
ALTER TABLE district SET (LOCK_ESCALATION = DISABLE);
