"""Other tools, called the way their users call them: loading apart from the work, so that each can be timed alone."""
