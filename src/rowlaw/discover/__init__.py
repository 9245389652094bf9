"""Discovery: the search for laws, whatever their kind."""
