"""What joins the parts: one step of an adapted model, the guard, the regime and the loop."""
