#include "{entry}_program.h"

;
extern "C" [[noreturn]] void {entry}(const char *, const char *, unsigned int, const char *) noexcept;
{undefined_words}
{undefined_test}
#define __assert_fail {entry}
#include <cassert>
#include "{entry}_test.h"

/* What this file calls main must be what the linker calls main. */
extern "C" void *{entry}_main() {
    return (void *)&main;
}
