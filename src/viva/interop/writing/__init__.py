"""Writers of runs and question sets in other tools' formats. Nothing here asks or grades."""
