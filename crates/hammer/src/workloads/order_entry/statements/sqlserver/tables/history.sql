-- Rows are only ever appended. Like the specification's this table has no key: its rows lie in a heap, whose
-- last page not all sessions want at once.
CREATE TABLE history (
    h_date DATETIME2(6) NOT NULL,
    h_c_w_id INT NOT NULL,
    h_c_id INT NOT NULL,
    h_w_id INT NOT NULL,
    h_c_d_id SMALLINT NOT NULL,
    h_d_id SMALLINT NOT NULL,
    h_amount DECIMAL(6,2) NOT NULL,
    h_data VARCHAR(24) NOT NULL
);
ALTER TABLE history SET (LOCK_ESCALATION = DISABLE);
