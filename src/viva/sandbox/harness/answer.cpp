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
const int DEPTH = 64, MESSAGE = 1000;
char *reply;
unsigned long replied;
int depth;

void *room(unsigned long size) {
    void *found = malloc(size);
    if (!found) abort();
    return found;
}

Node *node(Kind kind, const char *text, unsigned long size) {
    return new (room(sizeof(Node))) Node{kind, text, size, nullptr};
}

const char *const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

Node *unpacked(Kind kind, const char *text) {
    char *found = (char *)room(strlen(text) + 1), *to = found;
    unsigned long bits = 0, count = 0;
    for (; *text && *text != '='; text++) {
        bits = bits << 6 | (strchr(digits, *text) - digits);
        count += 6;
        if (count >= 8) *to++ = (char)(bits >> (count -= 8));
    }
    *to = 0;
    return node(kind, found, to - found);
}

/* The next value of a request: words as values.py writes them. */
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

bool is_utf8(const unsigned char *bytes, unsigned long size) {
    for (unsigned long at = 0; at < size;) {
        int more = bytes[at] < 0x80 ? 0 : bytes[at] >= 0xC2 && bytes[at] < 0xE0 ? 1 : (bytes[at] & 0xF0) == 0xE0 ? 2
            : bytes[at] >= 0xF0 && bytes[at] < 0xF5 ? 3 : -1;
        if (more < 0 || at + more >= size) return false;
        unsigned long code = more == 2 ? bytes[at] & 15 : bytes[at] & 7;
        for (int next = 1; next <= more; next++) {
            if ((bytes[at + next] & 0xC0) != 0x80) return false;
            code = code << 6 | (bytes[at + next] & 63);
        }
        if (more == 2 && (code < 0x800 || (code >= 0xD800 && code < 0xE000))) return false;
        if (more == 3 && (code < 0x10000 || code > 0x10FFFF)) return false;
        at += more + 1;
    }
    return true;
}

void put_quoted(const char *bytes, unsigned long size, const char *first = "\"") {
    put_bytes(first, strlen(first));
    for (unsigned long at = 0; at < size; at++) {
        char escaped[8];
        if ((unsigned char)bytes[at] < ' ' || bytes[at] == '"' || bytes[at] == '\\' || bytes[at] == 127) {
            snprintf(escaped, sizeof escaped, "\\u%04x", bytes[at]);
            put_bytes(escaped, 6);
        } else {
            put_bytes(bytes + at, 1);
        }
    }
    put_bytes("\"", 1);
}

/* A text, or what takes its place where it is no UTF-8. */
void put_message(const char *text, unsigned long size) {
    bool readable = is_utf8((const unsigned char *)text, size);
    put_quoted(readable ? text : "?", readable ? size : 1);
}

unsigned long cut(const char *text) {
    unsigned long size = strnlen(text, MESSAGE);
    while (size && size == (unsigned long)MESSAGE && (text[size] & 0xC0) == 0x80) size--;
    return size;
}

void put_pair(const char *key, const char *value) {
    put_bytes("\"", 1);
    put_bytes(key, strlen(key));
    put_bytes("\": ", 3);
    put_message(value, cut(value));
}

void put_type(const std::type_info *type) {
    int status = 0;
    char *full = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), *name = full;
    char *end = full ? strchr(full, '<') : nullptr;
    if (end) *end = 0;
    for (char *at = full; at && *at; at++)
        if (*at == ':') name = at + 1;
    put_message(name ? name : "?", name ? cut(name) : 1);
}

/* The exception that is handled now: its class, and those that it is derived from one by one. */
void put_raised(const char *message, unsigned long size) {
    const std::type_info *type = abi::__cxa_current_exception_type();
    put("\"raises\": {\"type\": ");
    put_type(type);
    put(", \"message\": ");
    put_message(message, size);
    put(", \"bases\": [");
    const char *between = "";
    while (const auto *derived = dynamic_cast<const abi::__si_class_type_info *>(type)) {
        type = derived->__base_type;
        put(between);
        put_type(type);
        between = ", ";
    }
    put("]}");
}

void answer(unsigned long number, const Node *name, const Node *given) {
    if (calls[number - 1]) {
        put("\"returns\": ");
        calls[number - 1](given);
    } else {
        char text[200];
        snprintf(text, sizeof text, "no function %.100s", name->text);
        put_pair("missing", text);
    }
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
    if (is_utf8((const unsigned char *)text, size)) return put_quoted(text, size);
    put("{\"$bytes\": \"");
    for (unsigned long at = 0; at < size; at += 3) {
        unsigned long three = 0;
        for (unsigned long next = 0; next < 3; next++) three = three << 8 | (at + next < size ? (unsigned char)text[at + next] : 0);
        char four[4] = {digits[three >> 18], digits[three >> 12 & 63], at + 1 < size ? digits[three >> 6 & 63] : '=',
                        at + 2 < size ? digits[three & 63] : '='};
        put_bytes(four, 4);
    }
    put("\"}");
}

void put_key(const char *key, unsigned long size) {
    if (!is_utf8((const unsigned char *)key, size)) unknown("T = a key that is no UTF-8]");
    put_quoted(key, size, size && key[0] == '$' ? "\"$" : "\"");
    put(": ");
}

void put_whole(long long number) {
    char text[32];
    put_bytes(text, snprintf(text, sizeof text, "%lld", number));
}

void put_whole(unsigned long long number) {
    char text[32];
    put_bytes(text, snprintf(text, sizeof text, "%llu", number));
}

void put_real(double number, int digits) {
    char text[40];
    if (std::isnan(number)) put("{\"$float\": \"nan\"}");
    else if (std::isinf(number)) put(number > 0 ? "{\"$float\": \"inf\"}" : "{\"$float\": \"-inf\"}");
    else {
        int size = 0, enough = digits == 9 ? 6 : 15; /* the shortest that is read as this number again */
        do size = snprintf(text, sizeof text, "%.*g", enough, number);
        while (enough++ < digits && (digits == 9 ? strtof(text, nullptr) : strtod(text, nullptr)) != number);
        put_bytes(text, size);
    }
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
        put("{\"id\": ");
        put(id->text);
        put(", ");
        unsigned long begin = replied;
        depth = 0;
        try {
            answer(strtoul(id->text, nullptr, 10), name, given);
        } catch (const Unfit &problem) {
            replied = begin;
            char text[600];
            snprintf(text, sizeof text, "no function %.100s for these arguments: %s", name->text, problem.what);
            put_pair("missing", text);
        } catch (const Unknown &problem) {
            replied = begin;
            put_pair("unknown", problem.what);
        } catch (const std::exception &error) {
            replied = begin;
            put_raised(error.what(), cut(error.what()));
        } catch (const char *error) {
            replied = begin;
            put_raised(error, cut(error));
        } catch (...) {
            replied = begin;
            put_raised("", 0);
        }
        put("}\n");
        send();
    }
    fflush(nullptr);
    _exit(0); /* threads that still run and destructors have nothing to say */
}
