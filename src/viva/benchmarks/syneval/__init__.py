"""SynEval: the syntax of a sentence, in examinations generated from a treebank."""
