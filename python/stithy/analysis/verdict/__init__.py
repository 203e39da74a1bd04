"""From the blocks of a comparison to its verdict, and how sure that is."""
