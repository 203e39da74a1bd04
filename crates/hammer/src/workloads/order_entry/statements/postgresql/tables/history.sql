-- Rows are only ever appended; the specification gives this table no key.
CREATE TABLE history (
    h_date timestamptz NOT NULL,
    h_c_w_id integer NOT NULL,
    h_c_id integer NOT NULL,
    h_w_id integer NOT NULL,
    h_c_d_id smallint NOT NULL,
    h_d_id smallint NOT NULL,
    h_amount numeric(6,2) NOT NULL,
    h_data varchar(24) NOT NULL
);
