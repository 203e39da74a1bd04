CREATE TABLE warehouse (
    w_id INTEGER NOT NULL,
    w_tax INTEGER NOT NULL,
    w_ytd INTEGER NOT NULL,
    w_name TEXT NOT NULL,
    w_street_1 TEXT NOT NULL,
    w_street_2 TEXT NOT NULL,
    w_city TEXT NOT NULL,
    w_state TEXT NOT NULL,
    w_zip TEXT NOT NULL,
    PRIMARY KEY (w_id)
) STRICT, WITHOUT ROWID;
