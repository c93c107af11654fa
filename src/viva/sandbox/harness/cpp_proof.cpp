/* Linked beside the examinee's program (-Wl,--wrap=main): takes the key before any of its code, static constructors
   included, and answers with it only after the test's main() returned 0. System calls are made without the C library, whose
   functions the program could have replaced. */

extern "C" int __real_main(int, char **, char **);
extern "C" void *{entry}_main();
extern "C" [[noreturn]] void {entry}(const char *, const char *, unsigned int, const char *) noexcept;

namespace {

#if defined(__x86_64__)
enum { READ = 0, WRITE = 1, EXIT_GROUP = 231 };
long call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
enum { READ = 63, WRITE = 64, EXIT_GROUP = 94 };
long call(long number, long a, long b, long c) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
#endif

const int FROM = 3, TO = 4, LENGTH = 64;
const char MASK = (char)0xA5; /* the key is kept under it, so that nobody finds its text in memory */
char key[LENGTH];

/* The next byte that Viva sends. */
char next() {
    char one;
    if (call(READ, FROM, (long)&one, 1) != 1) call(EXIT_GROUP, 1, 0, 0);
    return one;
}

void take_key(int, char **, char **) {
    for (int at = 0; at < LENGTH; at++) key[at] = (char)(next() ^ MASK ^ at);
    while (next() != '\n') {}
}
__attribute__((section(".preinit_array"), used)) void (*const first)(int, char **, char **) = take_key;

unsigned length(const char *text) {
    unsigned count = 0;
    while (text[count]) count++;
    return count;
}

}  // namespace

extern "C" int __wrap_main(int count, char **words, char **environment) {
    int status = __real_main(count, words, environment);
    if (status == 0 && {entry}_main() == (void *)&__real_main) {
        for (int at = 0; at < LENGTH; at++) {
            char one = (char)(key[at] ^ MASK ^ at);
            call(WRITE, TO, (long)&one, 1);
        }
        char one = '\n';
        do call(WRITE, TO, (long)&one, 1); /* the end of the key, then what answers it */
        while ((one = next()) != '\n');
        call(WRITE, TO, (long)&one, 1);
    }
    return status;
}

extern "C" void {entry}(const char *what, const char *, unsigned int, const char *) noexcept {
    const char said[] = "assertion failed: ";
    call(WRITE, 2, (long)said, sizeof said - 1);
    call(WRITE, 2, (long)what, length(what));
    call(WRITE, 2, (long)"\n", 1);
    for (;;) call(EXIT_GROUP, 134, 0, 0);
}
