"""How a running study is shown. A package, so that finding the commands does not import it."""
