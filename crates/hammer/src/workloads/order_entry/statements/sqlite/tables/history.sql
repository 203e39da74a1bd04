-- Rows are only ever appended; the specification gives this table no key.
CREATE TABLE history (
    h_date INTEGER NOT NULL,
    h_c_w_id INTEGER NOT NULL,
    h_c_id INTEGER NOT NULL,
    h_w_id INTEGER NOT NULL,
    h_c_d_id INTEGER NOT NULL,
    h_d_id INTEGER NOT NULL,
    h_amount INTEGER NOT NULL,
    h_data TEXT NOT NULL
) STRICT;
