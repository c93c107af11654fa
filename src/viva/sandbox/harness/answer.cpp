/* Calls functions of the program by name and replies with what they return (see calls.py). It knows no expected value.
   Compiled by itself: what it includes, the program does not see. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <cerrno>
#include <exception>
#include <cxxabi.h>
#include <unistd.h>
#include "{entry}.h"

namespace {entry} {

struct Node {
    Kind kind;
    const char *text; /* a number as it came; a text or bytes as they are */
    unsigned long size;
    Node **items;
};

struct Unfit {
    char what[400];
};
struct Unknown {
    char what[400];
};

namespace {

const unsigned long LENGTH = 16000000;
const int DEPTH = 64;
char *reply;
unsigned long replied, begun; /* where what the call came to is written */
int depth;

void *room(unsigned long size) {
    void *found = malloc(size);
    if (!found) abort();
    return found;
}

Node *node(Kind kind, const char *text, unsigned long size) {
    return new (room(sizeof(Node))) Node{kind, text, size, nullptr};
}

const char *const digits = "0123456789abcdef";

Node *unpacked(Kind kind, const char *text) {
    unsigned long size = strlen(text) / 2;
    char *found = (char *)room(size + 1);
    for (unsigned long at = 0; at < size; at++)
        found[at] = (char)((strchr(digits, text[2 * at]) - digits) << 4 | (strchr(digits, text[2 * at + 1]) - digits));
    found[size] = 0;
    return node(kind, found, size);
}

/* The next value of a request: words as plainvalues.py writes them. */
Node *next(char *&at) {
    char letter = *at++, *rest = at;
    at += strcspn(at, " \n");
    if (*at) *at++ = 0;
    switch (letter) {
        case 'n': return node(NOTHING, "null", 4);
        case 't': return node(TRUTH, "true", 4);
        case 'f': return node(TRUTH, "false", 5);
        case 'i': return node(INTEGER, strdup(rest), strlen(rest));
        case 'r': return node(REAL, strdup(rest), strlen(rest));
        case 's': return unpacked(TEXT, rest);
        case 'b': return unpacked(BYTES, rest);
    }
    Kind kind = letter == 'p' ? TUPLE : letter == 'u' ? SET : letter == 'o' ? OBJECT : letter == 'm' ? MAP : LIST;
    Node *found = node(kind, "", strtoul(rest, nullptr, 10));
    found->items = (Node **)room((found->size + 1) * sizeof(Node *));
    for (unsigned long each = 0; each < found->size; each++) found->items[each] = next(at);
    return found;
}

void put_bytes(const char *bytes, unsigned long size) {
    if (replied + size > LENGTH) unknown("T = a value too long]");
    memcpy(reply + replied, bytes, size);
    replied += size;
}

void put_word(const char *text) { put_text(text, strlen(text)); }

void put_kind(const char *kind) {
    replied = begun;
    put_word(kind);
}

void put_type(const std::type_info *type) {
    int status = 0;
    char *full = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), *name = full;
    char *end = full ? strchr(full, '<') : nullptr;
    if (end) *end = 0;
    for (char *at = full; at && *at; at++)
        if (*at == ':') name = at + 1;
    put_word(name ? name : "?");
}

/* The class that a class is derived from, where it is one alone. */
const std::type_info *base(const std::type_info *type) {
    const auto *derived = dynamic_cast<const abi::__si_class_type_info *>(type);
    return derived ? derived->__base_type : nullptr;
}

/* The exception that is handled now: its class, and those that it is derived from one by one. */
void put_raised(const char *message) {
    const std::type_info *type = abi::__cxa_current_exception_type();
    unsigned long above = 0;
    for (const std::type_info *each = base(type); each; each = base(each)) above++;
    put_kind("raises");
    put_items('m', 6);
    put_word("type");
    put_type(type);
    put_word("message");
    put_word(message);
    put_word("bases");
    put_items('l', above);
    while ((type = base(type))) put_type(type);
}

void put_missing(const char *before, const char *name, const char *why) {
    char text[600];
    snprintf(text, sizeof text, before, name, why);
    put_kind("missing");
    put_word(text);
}

void answer(unsigned long number, const Node *name, const Node *given) {
    if (!calls[number - 1]) return put_missing("no function %.100s%s", name->text, "");
    put_kind("returns");
    calls[number - 1](given);
}

void send() {
    for (unsigned long sent = 0; sent < replied;) {
        long more = ::write(4, reply + sent, replied - sent);
        if (more < 0 && errno != EINTR) _exit(1);
        if (more > 0) sent += more;
    }
}

}  // namespace

Kind kind(const Node *node) { return node->kind; }
unsigned long size(const Node *node) { return node->size; }
const Node *item(const Node *node, unsigned long at) { return node->items[at]; }
const char *text(const Node *node) { return node->text; }
double real(const Node *node) { return strtod(node->text, nullptr); }

template <class T> static bool whole(const Node *node, T &to, T (*parse)(const char *, char **, int)) {
    char *end = nullptr;
    errno = 0;
    to = parse(node->text, &end, 10);
    return node->kind == INTEGER && !errno && !*end;
}
bool whole(const Node *node, long long &to) { return whole(node, to, strtoll); }
bool whole(const Node *node, unsigned long long &to) { return node->text[0] != '-' && whole(node, to, strtoull); }

void put(const char *text) { put_bytes(text, strlen(text)); }

void put_text(const char *text, unsigned long size) {
    put(" s");
    for (unsigned long at = 0; at < size; at++) {
        char both[2] = {digits[(unsigned char)text[at] >> 4], digits[text[at] & 15]};
        put_bytes(both, 2);
    }
}

void put_whole(long long number) {
    char text[32];
    put_bytes(text, snprintf(text, sizeof text, " i%lld", number));
}

void put_whole(unsigned long long number) {
    char text[32];
    put_bytes(text, snprintf(text, sizeof text, " i%llu", number));
}

void put_items(char kind, unsigned long size) {
    char text[32];
    put_bytes(text, snprintf(text, sizeof text, " %c%lu", kind, size));
}

void put_real(double number, int digits) {
    char text[40];
    int enough = digits == 9 ? 6 : 17; /* of a float the shortest that is read as this number again */
    do snprintf(text, sizeof text, " r%.*g", enough, number);
    while (enough++ < digits && strtof(text + 2, nullptr) != number);
    put(text);
}

void deeper() {
    if (++depth > DEPTH) unknown("T = a value too deep]");
}

void shallower() { depth--; }

/* "T read(const Node *) [with T = int; ...]" is int. */
static void copy_type(char *to, unsigned long space, const char *name) {
    const char *begin = strstr(name, "T = ");
    begin = begin ? begin + 4 : name;
    unsigned long length = strcspn(begin, ";]");
    snprintf(to, space, "%.*s", (int)(length < space ? length : space), begin);
}

[[noreturn]] void unfit(const Node *node, const char *name) {
    Unfit problem;
    char type[300];
    copy_type(type, sizeof type, name);
    snprintf(problem.what, sizeof problem.what, "%.60s is no %.300s", node->size && !node->items ? node->text : "a value", type);
    throw problem;
}

[[noreturn]] void unknown(const char *name) {
    Unknown problem;
    copy_type(problem.what, sizeof problem.what, name);
    throw problem;
}

[[noreturn]] void missing(const char *what) {
    Unfit problem;
    snprintf(problem.what, sizeof problem.what, "%s", what);
    throw problem;
}

}  // namespace {entry}

extern "C" int __wrap_main(int, char **, char **) {
    using namespace {entry};
    FILE *from = fdopen(3, "r");
    char *line = nullptr;
    unsigned long space = 0;
    reply = (char *)malloc(LENGTH + 4000);
    while (from && reply && getline(&line, &space, from) > 0) {
        char *at = line;
        Node *id = next(at), *name = next(at), *given = next(at);
        replied = 0;
        put_items('m', 4);
        put_word("id");
        put(" i");
        put(id->text);
        begun = replied;
        depth = 0;
        try {
            answer(strtoul(id->text, nullptr, 10), name, given);
        } catch (const Unfit &problem) {
            put_missing("no function %.100s for these arguments: %s", name->text, problem.what);
        } catch (const Unknown &problem) {
            put_kind("unknown");
            put_word(problem.what);
        } catch (const std::exception &error) {
            put_raised(error.what());
        } catch (const char *error) {
            put_raised(error);
        } catch (...) {
            put_raised("");
        }
        put("\n");
        send();
    }
    fflush(nullptr);
    _exit(0); /* threads that still run and destructors have nothing to say */
}
