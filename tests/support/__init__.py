"""What tests share: builders of synthetic results and the like."""
