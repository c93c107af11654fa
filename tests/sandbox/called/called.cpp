#include <algorithm>
#include <future>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>
#define int long long
#define f first
#define node second
#define all(x) x.begin(), x.end()
using namespace std;

struct P { int x; };
struct Solution { static int twice(int n) { return 2 * n; } };
enum class Color { RED, GREEN };
namespace ns { string hi(const char *who) { return string("hi ") + who; } }

static int solve(int n) { return 2 * n + 1; }
vector<int> reversed(vector<int> &items) { reverse(all(items)); return items; }
map<string, vector<double>> grown(map<string, vector<double>> map) { map["$c"].push_back(1.5); return map; }
unordered_map<int, string> swapped(const unordered_map<int, string> &map) { return map; }
double real(double number) { return number; }
float single(float number) { return number; }
long large(long number) { return number; }
const string &echo(const string &text) { return text; }
void nothing() { cout << "it prints" << endl; }
int bump() { static int state = 0; return ++state; }
template <class T> T greatest(const vector<T> &items) { return *max_element(all(items)); }

int over(int n) { return n; }
double over(double n) { return n / 2; }
string over(const string &n) { return "s" + n; }
set<char> letters(string text) { return set<char>(all(text)); }
future<int> later(int n) { return async(launch::async, [n] { return n * 3; }); }
optional<string> perhaps(bool yes) { if (yes) return "x"; return nullopt; }
int plus(int n, int more = 5) { return n + more; }
std::pair<int, string> pair(std::pair<int, int> two) { return {two.second, "x"}; }
tuple<int, string, bool> triple(tuple<int, double, bool> three) { return {get<0>(three), "q", get<2>(three)}; }
int summed(int items[], int size) { int sum = 0; for (int at = 0; at < size; at++) sum += items[at]; return sum; }
auto lambda = [](int n) { return n + 1; };
string broken() { return "\xff\xfe"; }
vector<bool> bits(int n) { return vector<bool>(n, true); }
unsigned long long unsigned_(unsigned long long n) { return n; }
template <class T, class... More> T sum(T first, More... more) {
    if constexpr (sizeof...(more)) return first + sum(more...);
    else return first;
}
void changed(vector<int> &items) { items.clear(); }
Color color() { return Color::GREEN; }

int outside(vector<int> items) { return items.at(5); }
void throws() { throw (signed)5; }
P object() { return P{1}; }
string endless() { return string(20000000, 'a'); }

signed main() { throw runtime_error("nobody calls it"); }
