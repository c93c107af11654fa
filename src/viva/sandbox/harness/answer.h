/* Comes before the program and includes nothing: what the program needs, it must include itself. Converts values of a
   request to the types of a function's parameters, and its result to words (plainvalues.py); types of the library are
   recognised by what they can do. */
namespace {entry} {

enum Kind { NOTHING, TRUTH, INTEGER, REAL, TEXT, BYTES, LIST, TUPLE, SET, OBJECT, MAP };
struct Node; /* a value of a request; OBJECT and MAP have keys and values by turns */
Kind kind(const Node *);
unsigned long size(const Node *);
const Node *item(const Node *, unsigned long);
const char *text(const Node *);
double real(const Node *);
bool whole(const Node *, long long &);
bool whole(const Node *, unsigned long long &);
void put(const char *);
void put_text(const char *, unsigned long);
void put_whole(long long);
void put_whole(unsigned long long);
void put_real(double, int digits);
void put_items(char, unsigned long); /* how many values follow, and as what */
void deeper();
void shallower();
[[noreturn]] void unfit(const Node *, const char *);
[[noreturn]] void unknown(const char *);
[[noreturn]] void missing(const char *);
using Call = void (*)(const Node *);
extern const Call *const calls; /* one by one; 0 where the program has no such function */

template <unsigned N> struct Rank : Rank<N - 1> {};
template <> struct Rank<0> {};
using Best = Rank<12>;
template <bool> struct If {};
template <> struct If<true> { using Yes = int; };
template <class A, class B> struct Same { enum { value = false }; };
template <class A> struct Same<A, A> { enum { value = true }; };
template <class T> struct Bare { using Type = T; };
template <class T> struct Bare<T &> : Bare<T> {};
template <class T> struct Bare<T &&> : Bare<T> {};
template <class T> struct Bare<const T> : Bare<T> {};
template <class T> struct Bare<volatile T> : Bare<T> {};
template <class T> struct Bare<const volatile T> : Bare<T> {};
template <class T> using bare = typename Bare<T>::Type;
template <class T> T &made();
template <class T> struct Number { enum { whole = false, real = false, least = false }; };
#define VIVA_WHOLE(T) template <> struct Number<T> { enum { whole = true, real = false, least = (T)-1 < (T)0 }; };
VIVA_WHOLE(signed char) VIVA_WHOLE(unsigned char) VIVA_WHOLE(short) VIVA_WHOLE(unsigned short) VIVA_WHOLE(int)
VIVA_WHOLE(unsigned) VIVA_WHOLE(long) VIVA_WHOLE(unsigned long) VIVA_WHOLE(long long) VIVA_WHOLE(unsigned long long)
#undef VIVA_WHOLE
template <> struct Number<float> { enum { whole = false, real = true, digits = 9 }; };
template <> struct Number<double> { enum { whole = false, real = true, digits = 17 }; };
template <> struct Number<long double> { enum { whole = false, real = true, digits = 17 }; };

template <class T> const char *name_of() { return __PRETTY_FUNCTION__; }

/* ---- a value of a request as a type ---- */

template <class T> T read(const Node *);

template <class T, typename If<Same<T, bool>::value>::Yes = 0> T read_as(const Node *node, Rank<12>) {
    if (kind(node) != TRUTH) unfit(node, name_of<T>());
    return text(node)[0] == 't';
}
template <class T, typename If<Same<T, char>::value>::Yes = 0> T read_as(const Node *node, Rank<12>) {
    long long number = 0;
    if (kind(node) == TEXT && size(node) == 1) return text(node)[0];
    if (!whole(node, number) || number < -128 || number > 255) unfit(node, name_of<T>());
    return (T)number;
}
template <class T, typename If<Number<T>::whole>::Yes = 0> T read_as(const Node *node, Rank<12>) {
    long long number = 0;
    unsigned long long large = 0;
    if (whole(node, number) && (number >= 0 || Number<T>::least) && (long long)(T)number == number) return (T)number;
    if (whole(node, large) && !Number<T>::least && (unsigned long long)(T)large == large) return (T)large;
    unfit(node, name_of<T>());
}
template <class T, typename If<Number<T>::real>::Yes = 0> T read_as(const Node *node, Rank<12>) {
    if (kind(node) != INTEGER && kind(node) != REAL) unfit(node, name_of<T>());
    return (T)real(node);
}
template <class T, typename If<Same<T, decltype(nullptr)>::value>::Yes = 0> T read_as(const Node *node, Rank<12>) {
    if (kind(node) != NOTHING) unfit(node, name_of<T>());
    return nullptr;
}
/* text: std::string, std::string_view, char pointers, whose text stays where it is */
template <class T, class = decltype(made<T>().substr(0, 0)), class = decltype(T((const char *)0, 0ul))>
T read_as(const Node *node, Rank<11>) {
    if (kind(node) != TEXT && kind(node) != BYTES) unfit(node, name_of<T>());
    return T(text(node), size(node));
}
template <class T, typename If<Same<T, const char *>::value || Same<T, char *>::value>::Yes = 0>
T read_as(const Node *node, Rank<11>) {
    if (kind(node) == NOTHING) return 0;
    if (kind(node) != TEXT) unfit(node, name_of<T>());
    return const_cast<char *>(text(node));
}
/* other pointers: an array that is never given back */
template <class P> struct Pointed { using Type = void; };
template <class T> struct Pointed<T *> { using Type = bare<T>; };
template <class T, class Of = typename Pointed<T>::Type, class = decltype(new Of[1])>
T read_as(const Node *node, Rank<10>) {
    if (kind(node) == NOTHING) return 0;
    if (kind(node) != LIST) unfit(node, name_of<T>());
    Of *found = new Of[size(node) + 1];
    for (unsigned long at = 0; at < size(node); at++) found[at] = read<Of>(item(node, at));
    return found;
}
template <class T, class K = typename T::key_type, class V = typename T::mapped_type> T read_as(const Node *node, Rank<9>) {
    if (kind(node) != OBJECT && kind(node) != MAP) unfit(node, name_of<T>());
    T found;
    for (unsigned long at = 0; at + 1 < size(node); at += 2) found.emplace(read<K>(item(node, at)), read<V>(item(node, at + 1)));
    return found;
}
inline void need_items(const Node *node, const char *name) {
    if (kind(node) != LIST && kind(node) != SET && kind(node) != TUPLE) unfit(node, name);
}
template <class T, class K = typename T::key_type> void add(T &to, const Node *node, Rank<2>) {
    to.emplace(read<K>(node));
}
template <class T, class V = typename T::value_type> auto add(T &to, const Node *node, Rank<1>) -> decltype(to.push_back(made<V>())) {
    to.push_back(read<V>(node));
}
template <class T, class V = typename T::value_type> auto add(T &to, const Node *node, Rank<0>) -> decltype(to.push(made<V>())) {
    to.push(read<V>(node));
}
template <class T, class = decltype(add(made<T>(), (const Node *)0, Rank<2>()))> T read_as(const Node *node, Rank<8>) {
    need_items(node, name_of<T>());
    T found;
    for (unsigned long at = 0; at < size(node); at++) add(found, item(node, at), Rank<2>());
    return found;
}
template <class T, class V = typename T::value_type, class = decltype(made<T>().fill(made<V>()))>
T read_as(const Node *node, Rank<5>) {
    T found{};
    need_items(node, name_of<T>());
    if (size(node) != found.size()) unfit(node, name_of<T>());
    for (unsigned long at = 0; at < size(node); at++) found[at] = read<V>(item(node, at));
    return found;
}
template <class T, class V = typename T::value_type, class = decltype(made<T>().has_value()), class = decltype(T(made<V>()))>
T read_as(const Node *node, Rank<4>) {
    return kind(node) == NOTHING ? T() : T(read<V>(node));
}
template <class T, class A = typename T::first_type, class B = typename T::second_type> T read_as(const Node *node, Rank<3>) {
    need_items(node, name_of<T>());
    if (size(node) != 2) unfit(node, name_of<T>());
    return T(read<A>(item(node, 0)), read<B>(item(node, 1)));
}
template <class T> T read_as(const Node *node, Rank<0>) {
    unfit(node, name_of<T>());
}
template <class T> struct Reader {
    static T from(const Node *node) { return read_as<T>(node, Best()); }
};
template <class T> T read(const Node *node) { return Reader<T>::from(node); }

/* ---- a result as words ---- */

template <class T> void write(const T &);

template <class T, typename If<Same<T, bool>::value>::Yes = 0> void write_as(const T &value, Rank<12>) {
    put(value ? " t" : " f");
}
template <class T, typename If<Same<T, char>::value>::Yes = 0> void write_as(const T &value, Rank<12>) {
    put_text(&value, 1);
}
template <class T, typename If<Number<T>::whole>::Yes = 0> void write_as(const T &value, Rank<12>) {
    if (Number<T>::least) put_whole((long long)value);
    else put_whole((unsigned long long)value);
}
template <class T, typename If<Number<T>::real>::Yes = 0> void write_as(const T &value, Rank<12>) {
    put_real((double)value, Number<T>::digits);
}
template <class T, typename If<Same<T, decltype(nullptr)>::value>::Yes = 0> void write_as(const T &, Rank<12>) {
    put(" n");
}
template <class T, typename If<__is_enum(T)>::Yes = 0> void write_as(const T &value, Rank<12>) {
    write((__underlying_type(T))value);
}
template <class T, typename If<Same<T, const char *>::value || Same<T, char *>::value>::Yes = 0>
void write_as(const T &value, Rank<12>) {
    unsigned long length = 0;
    while (value && value[length]) length++;
    if (value) put_text(value, length);
    else put(" n");
}
template <class T, class = decltype(made<const T>().substr(0, 0)), class = decltype(T((const char *)0, 0ul))>
void write_as(const T &value, Rank<11>) {
    put_text(value.data(), value.size());
}
template <class T, class Each> void write_all(char kind, const T &value, unsigned long parts, Each write_each) {
    unsigned long size = 0;
    for (auto each = value.begin(); each != value.end(); ++each) size += parts;
    put_items(kind, size);
    for (const auto &each : value) write_each(each);
}
template <class T, class = typename T::key_type, class = typename T::mapped_type> void write_as(const T &value, Rank<9>) {
    write_all('m', value, 2, [](const auto &pair) {
        write(pair.first);
        write(pair.second);
    });
}
template <class T, class = typename T::key_type> void write_as(const T &value, Rank<8>) {
    write_all('u', value, 1, [](const auto &each) { write(each); });
}
template <class T, class V = bare<typename T::value_type>, class = decltype(made<const T>().begin() != made<const T>().end())>
void write_as(const T &value, Rank<7>) {
    write_all('l', value, 1, [](const auto &each) { write<V>(each); }); /* bits of a vector<bool> are bools */
}
template <class T, class = decltype(made<const T>().has_value()), class = typename T::value_type>
void write_as(const T &value, Rank<6>) {
    if (value.has_value()) write(*value);
    else put(" n");
}
template <class T, class = typename T::first_type, class = typename T::second_type> void write_as(const T &value, Rank<5>) {
    put_items('p', 2);
    write(value.first);
    write(value.second);
}
/* a future is waited for */
template <class T, class V = decltype(made<T>().get()), class = decltype(made<T>().wait())> void write_as(const T &value, Rank<4>) {
    if constexpr (Same<V, void>::value) {
        const_cast<T &>(value).get();
        put(" n");
    } else {
        write<bare<V>>(const_cast<T &>(value).get());
    }
}
template <class T> void write_as(const T &, Rank<0>) {
    unknown(name_of<T>());
}
template <class T> struct Writer {
    static void to(const T &value) { write_as<T>(value, Best()); }
};
template <class T> void write(const T &value) {
    deeper();
    Writer<T>::to(value);
    shallower();
}

/* ---- a call ---- */

template <unsigned long... I> struct Indices {};
template <class... T> struct Types {};
template <unsigned long I, class A> struct Slot {
    bare<A> value;
    Slot(const Node *given) : value(read<bare<A>>(item(given, I))) {}
};
template <class I, class... A> struct Slots;
template <unsigned long... I, class... A> struct Slots<Indices<I...>, A...> : Slot<I, A>... {
    Slots(const Node *given) : Slot<I, A>(given)... {
        (void)given;
    }
};
template <class F, class S, unsigned long... I, class... A> void invoke(const F &function, S &slots, Indices<I...>, Types<A...>) {
    (void)slots;
    using Void = decltype(function(static_cast<A &&>(static_cast<Slot<I, A> &>(slots).value)...));
    if constexpr (Same<Void, void>::value) {
        function(static_cast<A &&>(static_cast<Slot<I, A> &>(slots).value)...);
        put(" n");
    } else {
        write<bare<Void>>(function(static_cast<A &&>(static_cast<Slot<I, A> &>(slots).value)...));
    }
}
/* N is the number of arguments of the call: a function with others (default ones, for instance) is called by name */
template <unsigned long N> struct Given {
    const Node *node;
};
template <class R, class... A, unsigned long N, typename If<sizeof...(A) == N>::Yes = 0>
int by_address(R (*function)(A...), Given<N> given) {
    using All = Indices<__integer_pack(N)...>;
    Slots<All, A...> slots(given.node);
    invoke(function, slots, All(), Types<A...>());
    return 0;
}
template <class Name, class... A, class = decltype(made<Name>()(made<bare<A>>()...))>
bool by_name(Name name, Types<A...>, const Node *given, Rank<1>) {
    using All = Indices<__integer_pack(sizeof...(A))...>;
    Slots<All, A &...> slots(given);
    invoke(name, slots, All(), Types<A &...>());
    return true;
}
template <class Name, class... A> bool by_name(Name, Types<A...>, const Node *, Rank<0>) {
    return false;
}
template <unsigned long N, class Pointer, class Name, class... Each, class = decltype(made<Pointer>()(Given<N>()))>
void call(Pointer pointer, Name, Types<Each...>, const Node *given, Rank<1>) {
    pointer(Given<N>{given});
}
/* `Each` are lists of types that the arguments may have */
template <unsigned long N, class Pointer, class Name, class... Each>
void call(Pointer, Name name, Types<Each...>, const Node *given, Rank<0>) {
    if (!(by_name(name, Each(), given, Rank<1>()) || ...)) missing("does not take these arguments");
}

}  // namespace {entry}
