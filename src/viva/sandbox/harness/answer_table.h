/* Comes after the program: what types of the library are called, where the program included them. What the program made of
   C++'s words, and of those that are used from here on, they do not mean. */
{undefined_words}
{undefined_table}
namespace {entry} {
#ifdef _GLIBCXX_TUPLE
template <class... A, unsigned long... I> ::std::tuple<A...> read_tuple(const Node *node, Types<A...>, Indices<I...>) {
    return ::std::tuple<A...>{read<A>(item(node, I))...};
}
template <class T, unsigned long... I> void write_tuple(const T &value, Indices<I...>) {
    put_items('p', sizeof...(I));
    (write<bare<decltype(::std::get<I>(value))>>(::std::get<I>(value)), ...);
}
template <class... A> struct Reader<::std::tuple<A...>> {
    static ::std::tuple<A...> from(const Node *node) {
        need_items(node, name_of<::std::tuple<A...>>());
        if (size(node) != sizeof...(A)) unfit(node, name_of<::std::tuple<A...>>());
        return read_tuple(node, Types<A...>(), Indices<__integer_pack(sizeof...(A))...>());
    }
};
template <class... A> struct Writer<::std::tuple<A...>> {
    static void to(const ::std::tuple<A...> &value) { write_tuple(value, Indices<__integer_pack(sizeof...(A))...>()); }
};
#endif
#ifdef _BASIC_STRING_H
using Text = ::std::string;
#else
using Text = const char *;
#endif
#ifdef _STL_VECTOR_H
template <class T> using List = ::std::vector<T>;
#else
template <class T> using List = T *;
#endif
#ifdef _STL_SET_H
template <class T> using Set = ::std::set<T>;
#else
template <class T> struct Set {};
#endif
#ifdef _STL_MAP_H
template <class K, class V> using Map = ::std::map<K, V>;
#else
template <class K, class V> struct Map {};
#endif
#ifdef _GLIBCXX_TUPLE
template <class... A> using Tuple = ::std::tuple<A...>;
#else
template <class... A> struct Tuple {};
#endif
#ifdef _STL_PAIR_H
template <class A, class B> using Pair = ::std::pair<A, B>;
#else
template <class A, class B> struct Pair {};
#endif
}  // namespace {entry}
