-- What was loaded; written last, so a database without this row was not loaded to the end.
-- Its units are warehouses.
CREATE TABLE stithy_meta (
    workload VARCHAR(100) NOT NULL,
    schema_version INT NOT NULL,
    units INT NOT NULL,
    seed DECIMAL(20,0) NOT NULL,
    c_last_load INT NOT NULL,
    data_compressible_percent SMALLINT,
    data_duplicate_percent SMALLINT NOT NULL,
    PRIMARY KEY CLUSTERED (workload)
);
