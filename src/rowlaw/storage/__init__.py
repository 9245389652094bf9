"""What a state has on disk: arrays in generations, a table whose rows come and go, its rules and its events."""
