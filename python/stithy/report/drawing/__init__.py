"""What figures are made of: charts, colours, marks, titles; and how a drawing becomes a file."""
