"""Pages made from kept runs, a module each: `make(root)` gives the files that the page consists of."""
