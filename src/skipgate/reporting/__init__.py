"""Tables, figures and pages. Nothing is computed here that is not shown."""
