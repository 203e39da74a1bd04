"""What is looked at and thought of before a run begins; nothing is made here."""
