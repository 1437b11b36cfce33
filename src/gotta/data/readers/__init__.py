"""Reading the layouts people have: images, archives, tracks."""
