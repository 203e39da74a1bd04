"""Results and analysis as figures, sentences and pages."""
