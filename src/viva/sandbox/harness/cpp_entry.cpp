#include "{entry}_program.h"

;
extern "C" [[noreturn]] void {entry}(const char *, const char *, unsigned int, const char *) noexcept;
/* Whatever the program made of these words, the test means what C++ means by them. */
#undef alignas
#undef alignof
#undef asm
#undef assert
#undef auto
#undef bool
#undef break
#undef case
#undef catch
#undef char
#undef class
#undef const
#undef constexpr
#undef const_cast
#undef continue
#undef decltype
#undef default
#undef delete
#undef do
#undef double
#undef dynamic_cast
#undef else
#undef enum
#undef explicit
#undef extern
#undef false
#undef float
#undef for
#undef friend
#undef goto
#undef if
#undef inline
#undef int
#undef long
#undef main
#undef mutable
#undef namespace
#undef new
#undef noexcept
#undef nullptr
#undef operator
#undef private
#undef protected
#undef public
#undef register
#undef reinterpret_cast
#undef return
#undef short
#undef signed
#undef sizeof
#undef static
#undef static_assert
#undef static_cast
#undef std
#undef struct
#undef switch
#undef template
#undef this
#undef throw
#undef true
#undef try
#undef typedef
#undef typeid
#undef typename
#undef union
#undef unsigned
#undef using
#undef virtual
#undef void
#undef volatile
#undef wchar_t
#undef while
#undef abort
#undef exit
#undef _exit
#undef equal
#undef NDEBUG
#undef __assert_fail
#define __assert_fail {entry}
#include <cassert>
#include "{entry}_test.h"

/* What this file calls main must be what the linker calls main. */
extern "C" void *{entry}_main() {
    return (void *)&main;
}
