"""How far experts agree with each other, and a judge with them."""
