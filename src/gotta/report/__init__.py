"""Tables, figures and a page, made from the store alone."""
