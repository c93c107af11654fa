"""InfiBench: free-form programming questions."""
