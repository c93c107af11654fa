/** Calls static methods of the program by name and replies with what they return (see calls.py). It knows no expected value. */
@java.lang.SuppressWarnings("unchecked")
final class {entry} {
    private static final int DEPTH = 64, LENGTH = 16_000_000;
    private static final java.nio.charset.Charset UTF8 = java.nio.charset.StandardCharsets.UTF_8;
    private static final java.util.List<java.lang.Class<?>> INTEGERS = java.util.List.of(
        int.class, java.lang.Integer.class, long.class, java.lang.Long.class, java.math.BigInteger.class, short.class,
        java.lang.Short.class, byte.class, java.lang.Byte.class, double.class, java.lang.Double.class, float.class,
        java.lang.Float.class, java.math.BigDecimal.class);

    /** A value that the program's types cannot hold, or that has no encoding. */
    private static final class Unfit extends java.lang.RuntimeException {
        Unfit(java.lang.String what) {
            super(what);
        }
    }

    public static void main(java.lang.String[] words) throws java.lang.Throwable {
        try (java.io.BufferedReader from = new java.io.BufferedReader(
                 new java.io.InputStreamReader(new java.io.FileInputStream("/proc/self/fd/3"), UTF8));
             java.io.OutputStream to = new java.io.FileOutputStream("/proc/self/fd/4")) {
            for (java.lang.String line = from.readLine(); line != null; line = from.readLine()) {
                java.util.Iterator<java.lang.String> request = java.util.Arrays.asList(line.split(" ")).iterator();
                java.lang.Object id = next(request), name = next(request);
                java.lang.String reply = answer((java.lang.String) name, (java.util.List<?>) next(request));
                to.write((" m4" + text("id") + " i" + id + reply + "\n").getBytes(UTF8));
            }
        }
        java.lang.System.out.flush();
        java.lang.Runtime.getRuntime().halt(0);
    }

    private static java.lang.String answer(java.lang.String name, java.util.List<?> given) {
        try {
            java.util.Map.Entry<java.lang.reflect.Method, java.lang.Object[]> call = find(name, given);
            call.getKey().setAccessible(true);
            java.lang.Object result;
            try {
                result = call.getKey().invoke(null, call.getValue());
            } catch (java.lang.reflect.InvocationTargetException error) {
                return raised(error.getCause());
            }
            java.lang.StringBuilder reply = new java.lang.StringBuilder(text("returns"));
            encode(result, reply, 0);
            return reply.toString();
        } catch (java.lang.NoSuchMethodException error) {
            return text("missing") + text(error.getMessage());
        } catch (Unfit error) {
            return text("unknown") + text(error.getMessage());
        } catch (java.lang.Throwable error) { // of an initialiser, or of an iterator
            return raised(error instanceof java.lang.ExceptionInInitializerError ? error.getCause() : error);
        }
    }

    private static java.lang.String raised(java.lang.Throwable error) {
        while (error instanceof java.util.concurrent.ExecutionException && error.getCause() != null) error = error.getCause();
        java.util.List<java.lang.String> classes = new java.util.ArrayList<>();
        for (java.lang.Class<?> one = error.getClass(); one != java.lang.Object.class; one = one.getSuperclass()) {
            classes.add(text(one.getName().replaceFirst(".*[.$]", "")));
        }
        return text("raises") + " m6" + text("type") + classes.remove(0) + text("message") + text(java.lang.String.valueOf(error.getMessage()))
            + text("bases") + " l" + classes.size() + java.lang.String.join("", classes);
    }

    /** The method that is meant, and the arguments as its parameters want them. */
    private static java.util.Map.Entry<java.lang.reflect.Method, java.lang.Object[]> find(java.lang.String name, java.util.List<?> given) throws java.lang.Exception {
        java.lang.String owner = name.contains(".") ? name.substring(0, name.lastIndexOf('.')) : "";
        java.lang.String bare = name.substring(name.lastIndexOf('.') + 1);
        java.util.Map.Entry<java.lang.reflect.Method, java.lang.Object[]> best = null;
        int cost = java.lang.Integer.MAX_VALUE;
        java.lang.String others = "";
        for (java.lang.Class<?> one : classes()) {
            java.lang.String known = one.getName().replace('$', '.');
            if (!owner.isEmpty() && !known.equals(owner) && !known.endsWith("." + owner)) continue;
            for (java.lang.reflect.Method method : one.getDeclaredMethods()) {
                if (!method.getName().equals(bare) || method.isSynthetic()) continue;
                if (!java.lang.reflect.Modifier.isStatic(method.getModifiers())) {
                    others = ": " + bare + " is not static";
                    continue;
                }
                java.lang.reflect.Type[] types = method.getGenericParameterTypes();
                for (boolean spread : method.isVarArgs() ? new boolean[] {false, true} : new boolean[] {false}) {
                    try {
                        java.lang.Object[] arguments = decoded(types, spread, given);
                        int found = spread ? 1000 : 0;
                        for (int at = 0; at < types.length && at < given.size(); at++) found += cost(given.get(at), types[at]);
                        if (found < cost) {
                            best = java.util.Map.entry(method, arguments);
                            cost = found;
                        }
                    } catch (Unfit unfit) {
                        others = ": " + bare + java.util.Arrays.toString(types).replace('[', '(').replace(']', ')')
                            + " does not take these arguments: " + unfit.getMessage();
                    }
                }
            }
        }
        if (best == null) throw new java.lang.NoSuchMethodException("no function " + name + others);
        return best;
    }

    /** The program's classes: Main first, then those at the top, then nested ones. */
    private static java.util.List<java.lang.Class<?>> classes() throws java.lang.Exception {
        java.util.List<java.lang.String> names = new java.util.ArrayList<>();
        java.nio.file.Path here = java.nio.file.Path.of(java.lang.System.getProperty("java.class.path"));
        try (java.util.stream.Stream<java.nio.file.Path> files = java.nio.file.Files.walk(here)) {
            files.map(file -> here.relativize(file).toString()).filter(file -> file.endsWith(".class") && !file.contains("{entry}"))
                .forEach(file -> names.add(file.substring(0, file.length() - 6).replace('/', '.')));
        }
        names.sort(java.util.Comparator.comparing((java.lang.String name) -> !name.equals("Main"))
            .thenComparing(name -> name.contains("$")).thenComparing(java.util.Comparator.naturalOrder()));
        java.util.List<java.lang.Class<?>> found = new java.util.ArrayList<>();
        for (java.lang.String name : names) found.add(java.lang.Class.forName(name, false, {entry}.class.getClassLoader()));
        return found;
    }

    private static java.lang.Object[] decoded(java.lang.reflect.Type[] types, boolean spread, java.util.List<?> given) {
        int fixed = spread ? types.length - 1 : types.length;
        if (spread ? given.size() < fixed : given.size() != fixed) {
            throw new Unfit("there are " + given.size());
        }
        java.lang.Object[] arguments = new java.lang.Object[types.length];
        for (int at = 0; at < fixed; at++) arguments[at] = decoded(given.get(at), types[at]);
        if (spread) arguments[fixed] = decoded(given.subList(fixed, given.size()), types[fixed]);
        return arguments;
    }

    /** How far a type is from a value, to choose among overloaded methods. */
    private static int cost(java.lang.Object value, java.lang.reflect.Type type) {
        if (value instanceof java.math.BigInteger && INTEGERS.contains(type)) return INTEGERS.indexOf(type);
        return type == java.lang.Object.class || type instanceof java.lang.reflect.TypeVariable ? 100 : 0;
    }

    private static java.lang.Class<?> raw(java.lang.reflect.Type type) {
        if (type instanceof java.lang.Class) return (java.lang.Class<?>) type;
        if (type instanceof java.lang.reflect.ParameterizedType) return raw(((java.lang.reflect.ParameterizedType) type).getRawType());
        if (type instanceof java.lang.reflect.GenericArrayType) {
            java.lang.reflect.Type of = ((java.lang.reflect.GenericArrayType) type).getGenericComponentType();
            return java.lang.reflect.Array.newInstance(raw(of), 0).getClass();
        }
        if (type instanceof java.lang.reflect.WildcardType) return raw(((java.lang.reflect.WildcardType) type).getUpperBounds()[0]);
        return raw(((java.lang.reflect.TypeVariable<?>) type).getBounds()[0]);
    }

    private static java.lang.reflect.Type parameter(java.lang.reflect.Type type, int at) {
        if (!(type instanceof java.lang.reflect.ParameterizedType)) return java.lang.Object.class;
        java.lang.reflect.Type[] all = ((java.lang.reflect.ParameterizedType) type).getActualTypeArguments();
        return at < all.length ? all[at] : java.lang.Object.class;
    }

    /** A value of a request as a parameter's type wants it. */
    private static java.lang.Object decoded(java.lang.Object value, java.lang.reflect.Type type) {
        java.lang.Class<?> wanted = raw(type);
        if (wanted == java.util.Optional.class) return java.util.Optional.ofNullable(value == null ? null : decoded(value, parameter(type, 0)));
        java.lang.Object found = null;
        if (value == null) {
            if (!wanted.isPrimitive()) return null;
        } else if (value instanceof java.math.BigInteger) {
            found = integer((java.math.BigInteger) value, wanted);
        } else if (value instanceof java.lang.Double) {
            double number = (java.lang.Double) value;
            if (wanted == float.class || wanted == java.lang.Float.class) found = (float) number;
            else if (wanted == java.math.BigDecimal.class) found = java.math.BigDecimal.valueOf(number);
            else if (wanted == double.class || wanted.isInstance(value)) found = value;
        } else if (value instanceof java.lang.Boolean) {
            if (wanted == boolean.class || wanted.isInstance(value)) found = value;
        } else if (value instanceof java.lang.String) {
            java.lang.String text = (java.lang.String) value;
            boolean one = text.length() == 1 && (wanted == char.class || wanted == java.lang.Character.class);
            if (one) found = text.charAt(0);
            else if (wanted.isInstance(value)) found = value;
        } else if (value instanceof byte[]) {
            if (wanted.isAssignableFrom(byte[].class)) found = value;
        } else if (value instanceof java.util.Map) {
            found = map((java.util.Map<?, ?>) value, type, wanted);
        } else {
            found = collection((java.util.Collection<?>) value, type, wanted);
        }
        if (found == null) throw new Unfit(shown(value) + " as " + type.getTypeName());
        return found;
    }

    private static java.lang.String shown(java.lang.Object value) {
        java.lang.String text = value instanceof java.lang.String ? '"' + (java.lang.String) value + '"' : java.lang.String.valueOf(value);
        return text.length() > 60 ? text.substring(0, 60) + "…" : text;
    }

    private static java.lang.Object integer(java.math.BigInteger value, java.lang.Class<?> wanted) {
        int bits = value.bitLength();
        if ((wanted == byte.class || wanted == java.lang.Byte.class) && bits < 8) return value.byteValue();
        if ((wanted == short.class || wanted == java.lang.Short.class) && bits < 16) return value.shortValue();
        if ((wanted == int.class || wanted == java.lang.Integer.class) && bits < 32) return value.intValue();
        if ((wanted == long.class || wanted == java.lang.Long.class) && bits < 64) return value.longValue();
        if (wanted == float.class || wanted == java.lang.Float.class) return value.floatValue();
        if (wanted == double.class || wanted == java.lang.Double.class) return value.doubleValue();
        if (wanted == java.math.BigDecimal.class) return new java.math.BigDecimal(value);
        if (bits < 32 && wanted.isAssignableFrom(java.lang.Integer.class)) return value.intValue();
        if (bits < 64 && wanted.isAssignableFrom(java.lang.Long.class)) return value.longValue();
        return wanted.isInstance(value) ? value : null;
    }

    private static java.lang.Object map(java.util.Map<?, ?> value, java.lang.reflect.Type type, java.lang.Class<?> wanted) {
        java.lang.Class<?> made = wanted.isAssignableFrom(java.util.LinkedHashMap.class) ? java.util.LinkedHashMap.class
            : wanted.isAssignableFrom(java.util.TreeMap.class) ? java.util.TreeMap.class : wanted;
        if (!java.util.Map.class.isAssignableFrom(made)) return null;
        java.util.Map<java.lang.Object, java.lang.Object> found = made(made);
        value.forEach((key, item) -> found.put(decoded(key, parameter(type, 0)), decoded(item, parameter(type, 1))));
        return found;
    }

    private static java.lang.Object collection(java.util.Collection<?> all, java.lang.reflect.Type type, java.lang.Class<?> wanted) {
        java.util.List<?> items = new java.util.ArrayList<>(all);
        if (wanted.isArray()) {
            java.lang.reflect.Type of = type instanceof java.lang.reflect.GenericArrayType
                ? ((java.lang.reflect.GenericArrayType) type).getGenericComponentType() : wanted.getComponentType();
            java.lang.Object array = java.lang.reflect.Array.newInstance(wanted.getComponentType(), items.size());
            for (int at = 0; at < items.size(); at++) java.lang.reflect.Array.set(array, at, decoded(items.get(at), of));
            return array;
        }
        if (wanted == java.util.Map.Entry.class && items.size() == 2) {
            return new java.util.AbstractMap.SimpleEntry<>(decoded(items.get(0), parameter(type, 0)), decoded(items.get(1), parameter(type, 1)));
        }
        java.lang.Class<?> made = wanted;
        for (java.lang.Class<?> one : new java.lang.Class<?>[] {all instanceof java.util.Set ? java.util.LinkedHashSet.class : java.util.ArrayList.class,
                java.util.ArrayList.class, java.util.LinkedHashSet.class, java.util.TreeSet.class, java.util.LinkedList.class}) {
            if (wanted.isAssignableFrom(one)) {
                made = one;
                break;
            }
        }
        if (!java.util.Collection.class.isAssignableFrom(made)) return null;
        java.util.Collection<java.lang.Object> found = made(made);
        for (java.lang.Object item : items) found.add(decoded(item, parameter(type, 0)));
        return found;
    }

    private static <T> T made(java.lang.Class<?> type) {
        try {
            java.lang.reflect.Constructor<?> constructor = type.getDeclaredConstructor();
            return (T) constructor.newInstance();
        } catch (java.lang.ReflectiveOperationException error) {
            throw new Unfit("a new " + type.getName());
        }
    }

    private static void encode(java.lang.Object value, java.lang.StringBuilder to, int depth) throws java.lang.Throwable {
        if (depth > DEPTH || to.length() > LENGTH) throw new Unfit(depth > DEPTH ? "a value too deep" : "a value too long");
        if (value instanceof java.util.concurrent.CompletionStage) value = ((java.util.concurrent.CompletionStage<?>) value).toCompletableFuture();
        if (value instanceof java.util.concurrent.Future) value = ((java.util.concurrent.Future<?>) value).get();
        if (value instanceof java.util.Optional) value = ((java.util.Optional<?>) value).orElse(null);
        if (value == null || value instanceof java.lang.Boolean) {
            to.append(value == null ? " n" : (java.lang.Boolean) value ? " t" : " f");
        } else if (value instanceof java.lang.Double || value instanceof java.lang.Float || value instanceof java.math.BigDecimal
                || value instanceof java.lang.Integer || value instanceof java.lang.Long || value instanceof java.lang.Short
                || value instanceof java.lang.Byte || value instanceof java.math.BigInteger
                || value instanceof java.util.concurrent.atomic.AtomicInteger || value instanceof java.util.concurrent.atomic.AtomicLong) {
            to.append(" r").append(value);
        } else if (value instanceof java.lang.CharSequence || value instanceof java.lang.Character) {
            to.append(text(value.toString()));
        } else if (value instanceof byte[]) {
            to.append(" b");
            digits((byte[]) value, to);
        } else if (value.getClass().isArray()) {
            java.util.List<java.lang.Object> items = new java.util.ArrayList<>();
            for (int at = 0; at < java.lang.reflect.Array.getLength(value); at++) items.add(java.lang.reflect.Array.get(value, at));
            encodeAll('l', items, to, depth);
        } else if (value instanceof java.util.Map) {
            java.util.List<java.lang.Object> items = new java.util.ArrayList<>();
            for (java.util.Map.Entry<?, ?> pair : ((java.util.Map<?, ?>) value).entrySet()) {
                items.add(pair.getKey());
                items.add(pair.getValue());
            }
            encodeAll('m', items, to, depth);
        } else if (value instanceof java.util.Map.Entry) {
            java.util.Map.Entry<?, ?> pair = (java.util.Map.Entry<?, ?>) value;
            encodeAll('p', java.util.Arrays.asList(pair.getKey(), pair.getValue()), to, depth);
        } else if (value instanceof java.lang.Iterable) {
            encodeAll(value instanceof java.util.Set ? 'u' : 'l', (java.lang.Iterable<?>) value, to, depth);
        } else if (value instanceof java.util.stream.BaseStream) {
            java.util.Iterator<?> items = ((java.util.stream.BaseStream<?, ?>) value).iterator();
            encodeAll('l', () -> (java.util.Iterator<java.lang.Object>) items, to, depth);
        } else {
            throw new Unfit(value.getClass().getName());
        }
        if (to.length() > LENGTH) throw new Unfit("a value too long");
    }

    private static void encodeAll(char kind, java.lang.Iterable<?> items, java.lang.StringBuilder to, int depth) throws java.lang.Throwable {
        java.lang.StringBuilder inner = new java.lang.StringBuilder();
        int size = 0;
        for (java.lang.Object item : items) {
            encode(item, inner, depth + 1);
            size++;
        }
        to.append(' ').append(kind).append(size).append(inner);
    }

    private static java.lang.String text(java.lang.String text) {
        java.lang.StringBuilder to = new java.lang.StringBuilder(" s");
        digits(text.getBytes(UTF8), to);
        return to.toString();
    }

    private static void digits(byte[] bytes, java.lang.StringBuilder to) {
        for (byte each : bytes) to.append(java.lang.Character.forDigit(each >> 4 & 15, 16)).append(java.lang.Character.forDigit(each & 15, 16));
    }

    /** The next value of a request: words as plainvalues.py writes them. */
    private static java.lang.Object next(java.util.Iterator<java.lang.String> words) {
        java.lang.String word = words.next(), rest = word.substring(1);
        char letter = word.charAt(0);
        if (letter == 'n') return null;
        if (letter == 't' || letter == 'f') return letter == 't';
        if (letter == 'i') return new java.math.BigInteger(rest);
        if (letter == 'r') return rest.endsWith("inf") ? (rest.equals("inf") ? 1 : -1) / 0.0 : rest.equals("nan") ? java.lang.Double.NaN : java.lang.Double.valueOf(rest);
        if (letter == 's' || letter == 'b') {
            byte[] bytes = new byte[rest.length() / 2];
            for (int at = 0; at < bytes.length; at++) bytes[at] = (byte) java.lang.Integer.parseInt(rest.substring(2 * at, 2 * at + 2), 16);
            return letter == 'b' ? bytes : new java.lang.String(bytes, UTF8);
        }
        java.util.List<java.lang.Object> items = new java.util.ArrayList<>();
        for (int left = java.lang.Integer.parseInt(rest); left > 0; left--) items.add(next(words));
        if (letter == 'u') return new java.util.LinkedHashSet<>(items);
        if (letter != 'o' && letter != 'm') return items;
        java.util.Map<java.lang.Object, java.lang.Object> map = new java.util.LinkedHashMap<>();
        for (int at = 0; at < items.size(); at += 2) map.put(items.get(at), items.get(at + 1));
        return map;
    }
}
