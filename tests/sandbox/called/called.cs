using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;

namespace My.App {
    public class Solution {
        public static int solve(int n) { return 2 * n + 1; }
        static List<int> reversed(List<int> items) { items.Reverse(); return items; }
        static Dictionary<string, List<double>> grown(Dictionary<string, List<double>> map) { map["$c"] = new List<double> { 1.5 }; return map; }
        static Dictionary<int, string> swapped(IDictionary<int, string> map) { return new Dictionary<int, string>(map); }
        static double real(double number) { return number; }
        static float single(float number) { return number; }
        static long large(long number) { return number; }
        static string echo(string text) { return text; }
        static void nothing() { Console.WriteLine("it prints"); }
        static T greatest<T>(IEnumerable<T> items) where T : IComparable<T> { return items.Max(); }

        static HashSet<char> letters(string text) { return new HashSet<char>(text); }
        static async Task<int> later(int n) { await Task.Delay(10); return n * 3; }
        static int total(params int[] numbers) { return numbers.Sum(); }
        static int[][] grid(int[][] grid) { grid[0][0] = 7; return grid; }
        static int[,] square(int[,] grid) { grid[0, 0] = 7; return grid; }
        public static long over(long n) { return n; }
        public static double over(double n) { return n / 2; }
        public static string over(object n) { return "an object"; }
        static (int, string) pair() { return (1, "b"); }
        static (int, int) tuple((int, int) two) { return (two.Item2, two.Item1); }
        static IEnumerable<int> evens(int n) { for (int at = 0; at < n; at += 2) yield return at; }
        static byte[] bytes(byte[] bytes) { return bytes; }
        static int? perhaps(int? n) { return n; }
        static int plus(int n, int more = 5) { return n + more; }
        static ulong unsigned(ulong n) { return n; }

        static int outside(int[] items) { return items[5]; }
        static async Task<int> laterFails(int n) { await Task.Delay(10); throw new ArgumentNullException("n"); }
        static object @object() { return new Solution(); }
        static IEnumerable<int> endless() { while (true) yield return 1; }
        int instance(int n) { return n; }

        class Deep { public static int go(int n) { return n; } }

        static void Main(string[] words) { throw new Exception("nobody calls it"); }
    }

    static class Other {
        static int state = 0;
        public static int bump() { return ++state; }
    }
}
