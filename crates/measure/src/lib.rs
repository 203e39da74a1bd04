//! Clock, lateness, histograms and interval logs of a load driver.
