"""From a recipe to the specs of its cells, and what they need."""
