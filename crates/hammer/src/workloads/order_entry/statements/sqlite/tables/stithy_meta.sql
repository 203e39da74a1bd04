-- What was loaded; written last, so a database without this row was not loaded to the end.
-- Its units are warehouses. The seed is an unsigned 64-bit number, which no integer holds.
CREATE TABLE stithy_meta (
    workload TEXT NOT NULL,
    schema_version INTEGER NOT NULL,
    units INTEGER NOT NULL,
    seed TEXT NOT NULL,
    c_last_load INTEGER NOT NULL,
    data_compressible_percent INTEGER,
    data_duplicate_percent INTEGER NOT NULL
) STRICT;
