-- What was loaded; written last, so a database without this row was not loaded to the end.
-- Its units are warehouses. The seed is an unsigned 64-bit number, which no integer type holds.
CREATE TABLE stithy_meta (
    workload text NOT NULL,
    schema_version integer NOT NULL,
    units integer NOT NULL,
    seed numeric(20,0) NOT NULL,
    c_last_load integer NOT NULL,
    data_compressible_percent smallint,
    data_duplicate_percent smallint NOT NULL
);
