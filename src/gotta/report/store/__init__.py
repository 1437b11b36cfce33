"""Looking at folders of runs: status, differences, export, serving."""
