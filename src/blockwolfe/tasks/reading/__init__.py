"""What users have as X and Y, checked and made into arrays; feature vectors in any form."""
