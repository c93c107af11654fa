"""Viva in a program or a notebook: examine, grade and look, with the options of the command line by their names.

    import viva

    run = viva.run("cmmlu", model="openai/NAME", base_url="http://127.0.0.1:8000/v1", shots=5)
    run.mean, run.table(), run.scores()

`asking`: run, resume, grade. `opened`: a run and what can be had of it. `options`: what may be said. `apart`: how it is
done while the program does other work. `examinees`: what may be asked. docs/python.md has examples.
"""
