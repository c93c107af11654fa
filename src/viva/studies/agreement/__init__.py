"""How far experts and judge agree; scores from few labels."""

HEADING = "Grade and judge"
