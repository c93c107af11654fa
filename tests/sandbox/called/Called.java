import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

class Solution {
    static int solve(int n) { return 2 * n + 1; }
    static List<Integer> reversed(List<Integer> items) { Collections.reverse(items); return items; }
    static Map<String, List<Double>> grown(Map<String, List<Double>> map) { map.put("$c", List.of(1.5)); return map; }
    static Map<Integer, String> swapped(Map<Integer, String> map) { return map; }
    static double real(double number) { return number; }
    static float single(float number) { return number; }
    static long large(long number) { return number; }
    static String echo(String text) { return text; }
    static void nothing() { System.out.println("it prints"); }
    static <T extends Comparable<T>> T greatest(List<T> items) { return Collections.max(items); }

    static Set<Character> letters(String text) {
        Set<Character> found = new TreeSet<>();
        for (char one : text.toCharArray()) found.add(one);
        return found;
    }
    static CompletableFuture<Integer> later(int n) { return CompletableFuture.supplyAsync(() -> n * 3); }
    static int total(int... numbers) { return IntStream.of(numbers).sum(); }
    static int[][] grid(int[][] grid) { grid[0][0] = 7; return grid; }
    static long over(long n) { return n; }
    static double over(double n) { return n / 2; }
    static String over(Object n) { return "an object"; }
    static Map.Entry<Integer, String> pair() { return Map.entry(1, "b"); }
    static Stream<Integer> evens(int n) { return Stream.iterate(0, one -> one + 2).takeWhile(one -> one < n); }
    static byte[] bytes(byte[] bytes) { return bytes; }
    static java.math.BigInteger squared(java.math.BigInteger number) { return number.multiply(number); }
    static Optional<String> perhaps(boolean yes) { return yes ? Optional.of("x") : Optional.empty(); }

    static int outside(int[] items) { return items[5]; }
    static int fails() throws Exception {
        FutureTask<Integer> task = new FutureTask<>(() -> { throw new IllegalStateException("inside"); });
        task.run();
        return task.get();
    }
    static Object object() { return new Solution(); }
    static Stream<Integer> endless() { return Stream.generate(() -> 1); }
    int instance(int n) { return n; }

    static class Deep { static int go(int n) { return n; } }

    public static void main(String[] words) { throw new IllegalStateException("nobody calls it"); }
}

class Other {
    static int state = 0;
    static int bump() { return ++state; }
}
