"""Write runs and sets as other people's tools read them."""

HEADING = "Look"
