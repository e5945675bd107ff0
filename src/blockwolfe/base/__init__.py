"""What everything else stands on: compilation, checks, files, seeds, markup."""
