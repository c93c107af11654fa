"""Who is better, question by question, and is it chance?"""

HEADING = "Compare"
