"""First version: see below."""
import os, sys, ast
def main(os=os, sys=sys, read=os.read, write=os.write, exit=os._exit, ast=ast, exec=exec, compile=compile, BaseException=BaseException):
    if sys.argv[1] == "exit":
        with open("main.py", encoding="utf-8", errors="surrogateescape") as f:
            source = f.read()
        try:
            exec(compile(source, "main.py", "exec"), {})
        except BaseException:
            import traceback
            traceback.print_exc()
            exit(1)
        sys.stdout.flush()
        exit(0)
    def line():
        out = b""
        while not out.endswith(b"\n"):
            c = read(3, 1)
            if not c: exit(1)
            out += c
        return out
    def many(n):
        out = b""
        while len(out) < n:
            c = read(3, n - len(out))
            if not c: exit(1)
            out += c
        return out
    key, p, t = line().split()
    program, test = many(int(p)), many(int(t))
    g = {}
    try:
        exec(compile(program, "main.py", "exec"), g)
        exec(compile(test, "test.py", "exec"), g)
    except BaseException:
        import traceback
        traceback.print_exc()
        exit(1)
    write(4, key + b"\n")
    secret = line()
    write(4, secret)
    exit(0)
main()
