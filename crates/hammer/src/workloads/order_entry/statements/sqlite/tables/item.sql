CREATE TABLE item (
    i_id INTEGER NOT NULL,
    i_im_id INTEGER NOT NULL,
    i_price INTEGER NOT NULL,
    i_name TEXT NOT NULL,
    i_data TEXT NOT NULL,
    PRIMARY KEY (i_id)
) STRICT, WITHOUT ROWID;
