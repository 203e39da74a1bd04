"""Activities that several scenarios use, a folder each."""
