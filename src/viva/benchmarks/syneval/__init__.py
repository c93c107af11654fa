"""SynEval: the syntax of sentences, in exams generated from a treebank."""
