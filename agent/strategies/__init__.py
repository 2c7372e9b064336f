"""How a turn is worked: ReAct, synthesis, or from passages that a person selected."""
