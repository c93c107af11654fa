"""Published question sets by name: where their files come from, fetched once and verified"""
