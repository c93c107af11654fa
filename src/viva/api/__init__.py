"""Viva in a program or a notebook: ask, grade and inspect, with the options of the command line by their names.

    import viva

    run = viva.run("cmmlu", model="openai/NAME", base_url="http://127.0.0.1:8000/v1", shots=5)
    run.mean, run.table(), run.scores()

`examining`: run, resume, grade. `opened`: a finished run, its tables, scores and answers. `frames`: these as Polars
frames. `studies`: all studies as functions. docs/python.md has examples.
"""
