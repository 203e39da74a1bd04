"""What the rows of a window say as numbers: histograms merged, series averaged, never judged."""
