/** Calls the examinee's main method and proves that it returned (see proof.py). The key is a local variable of a frame that
    no other code can look into. */
final class {entry} {
    /** The key as numbers: it never lies in memory as the text that Viva sent. */
    private static long[] pieces(java.io.InputStream from) throws java.io.IOException {
        long[] numbers = new long[4];
        for (int at = 0; at < 64; at++) {
            int digit = from.read();
            if (digit < 0) throw new java.io.IOException("no key");
            numbers[at / 16] = numbers[at / 16] << 4 | java.lang.Character.digit(digit, 16);
        }
        for (int rest = from.read(); rest != '\n'; rest = from.read()) {
            if (rest < 0) throw new java.io.IOException("no key");
        }
        return numbers;
    }

    public static void main(java.lang.String[] words) throws java.lang.Throwable {
        long[] key;
        try (java.io.InputStream from = new java.io.FileInputStream("/proc/self/fd/3")) {
            key = pieces(from);
        }
        java.lang.Class<?> examined = java.lang.Class.forName("Main", false, {entry}.class.getClassLoader());
        java.lang.reflect.Method main = examined.getDeclaredMethod("main", java.lang.String[].class);
        main.setAccessible(true);
        try {
            main.invoke(null, (java.lang.Object) words);
        } catch (java.lang.reflect.InvocationTargetException error) {
            throw error.getCause();
        }
        for (int number = -128; number < 128; number++) {
            if (java.lang.Integer.valueOf(number).intValue() != number) {
                throw new java.lang.IllegalStateException("the number " + number + " was changed in memory");
            }
        }
        try (java.io.InputStream from = new java.io.FileInputStream("/proc/self/fd/3");
                java.io.OutputStream to = new java.io.FileOutputStream("/proc/self/fd/4")) {
            for (long piece : key) {
                for (int shift = 60; shift >= 0; shift -= 4) {
                    to.write(java.lang.Character.forDigit((int) (piece >>> shift & 15), 16));
                }
            }
            to.write('\n');
            int one;
            do to.write(one = from.read()); while (one >= 0 && one != '\n'); // what answers the key goes back
        }
    }
}
