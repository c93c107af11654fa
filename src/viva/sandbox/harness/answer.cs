// Calls static methods of the program by name and replies with what they return (see calls.py). It knows no expected value.
using global::System.Collections.Generic;
using Number = global::System.IFormattable;
using Pairs = global::System.Collections.Generic.List<global::System.Collections.Generic.KeyValuePair<object, object>>;

internal static class {entry} {
    private const int Depth = 64, Length = 16000000;
    private static readonly global::System.Globalization.CultureInfo Plain = global::System.Globalization.CultureInfo.InvariantCulture;
    private static readonly global::System.Type[] Integers = {
        typeof(int), typeof(long), typeof(uint), typeof(ulong), typeof(short), typeof(ushort), typeof(byte), typeof(sbyte),
        typeof(double), typeof(float), typeof(decimal),
    };

    // A value that the program's types cannot hold, or that has no encoding.
    private sealed class Unfit : global::System.Exception {
        internal Unfit(string what) : base(what) { }
    }

    public static int Main(string[] words) {
        var text = new global::System.Text.UTF8Encoding(false);
        var from = new global::System.IO.StreamReader(Open(3, global::System.IO.FileAccess.Read), text);
        var to = Open(4, global::System.IO.FileAccess.Write);
        for (string line = from.ReadLine(); line != null; line = from.ReadLine()) {
            var request = ((IEnumerable<string>)line.Split(' ')).GetEnumerator();
            object id = Next(request), name = Next(request);
            string reply = Answer((string)name, (List<object>)Next(request));
            byte[] bytes = text.GetBytes(" m4" + Text("id") + " i" + id + reply + "\n");
            to.Write(bytes, 0, bytes.Length);
            to.Flush();
        }
        global::System.Environment.Exit(0);
        return 0;
    }

    private static global::System.IO.FileStream Open(int descriptor, global::System.IO.FileAccess access) {
        return new global::System.IO.FileStream("/proc/self/fd/" + descriptor, global::System.IO.FileMode.Open, access,
            global::System.IO.FileShare.ReadWrite, 1, false);
    }

    private static string Answer(string name, List<object> given) {
        try {
            object[] arguments;
            var method = Find(name, given, out arguments);
            var text = new global::System.Text.StringBuilder(Text("returns"));
            Encode(method.Invoke(null, arguments), text, 0);
            return text.ToString();
        } catch (global::System.MissingMethodException error) {
            return Text("missing") + Text(error.Message);
        } catch (Unfit error) {
            return Text("unknown") + Text(error.Message);
        } catch (global::System.Exception error) {
            var cause = error;
            while (cause.InnerException != null && (cause is global::System.Reflection.TargetInvocationException
                    || cause is global::System.AggregateException || cause is global::System.TypeInitializationException)) {
                cause = cause.InnerException;
            }
            var bases = new List<string>();
            for (var type = cause.GetType().BaseType; type != typeof(object); type = type.BaseType) bases.Add(Text(Bare(type)));
            return Text("raises") + " m6" + Text("type") + Text(Bare(cause.GetType())) + Text("message") + Text(cause.Message)
                + Text("bases") + " l" + bases.Count + string.Join("", bases);
        }
    }

    private static string Bare(global::System.Type type) {
        int end = type.Name.IndexOf('`');
        return end < 0 ? type.Name : type.Name.Substring(0, end);
    }

    private static global::System.Reflection.MethodInfo Find(string name, List<object> given, out object[] arguments) {
        string owner = name.Contains(".") ? name.Substring(0, name.LastIndexOf('.')) : "";
        string bare = name.Substring(name.LastIndexOf('.') + 1), others = "";
        global::System.Reflection.MethodInfo best = null;
        arguments = null;
        int cost = int.MaxValue;
        var types = new List<global::System.Type>(typeof({entry}).Assembly.GetTypes());
        types.RemoveAll(type => (type.FullName + "+").StartsWith("{entry}+", global::System.StringComparison.Ordinal));
        types.Sort((one, other) => one.IsNested != other.IsNested ? one.IsNested.CompareTo(other.IsNested)
            : string.CompareOrdinal(one.FullName, other.FullName));
        foreach (var type in types) {
            string known = type.FullName.Replace('+', '.');
            if (owner != "" && known != owner && !known.EndsWith("." + owner, global::System.StringComparison.Ordinal)) continue;
            foreach (var found in type.GetMethods(global::System.Reflection.BindingFlags.Static | global::System.Reflection.BindingFlags.Instance
                    | global::System.Reflection.BindingFlags.Public | global::System.Reflection.BindingFlags.NonPublic
                    | global::System.Reflection.BindingFlags.DeclaredOnly)) {
                if (found.Name != bare) continue;
                if (!found.IsStatic) {
                    others = ": " + bare + " is not static";
                    continue;
                }
                for (int spread = 0; spread < 2; spread++) {
                    try {
                        var method = found.IsGenericMethodDefinition ? Closed(found, given) : found;
                        var decoded = Decoded(method.GetParameters(), spread == 1, given);
                        int far = 1000 * spread + (found.IsGenericMethodDefinition ? 500 : 0);
                        for (int at = 0; at < given.Count && at < decoded.Length; at++) {
                            far += Cost(given[at], method.GetParameters()[at].ParameterType);
                        }
                        if (far < cost) {
                            best = method;
                            arguments = decoded;
                            cost = far;
                        }
                    } catch (Unfit unfit) {
                        if (spread == 0) others = ": " + found + " does not take these arguments: " + unfit.Message;
                    }
                }
            }
        }
        if (best == null) throw new global::System.MissingMethodException("no function " + name + others);
        return best;
    }

    // A generic method with the types that the arguments have by themselves.
    private static global::System.Reflection.MethodInfo Closed(global::System.Reflection.MethodInfo method, List<object> given) {
        var known = new Dictionary<global::System.Type, global::System.Type>();
        var parameters = method.GetParameters();
        for (int at = 0; at < parameters.Length && at < given.Count; at++) Bind(parameters[at].ParameterType, given[at], known);
        var types = global::System.Array.ConvertAll(method.GetGenericArguments(), one => known.ContainsKey(one) ? known[one] : typeof(object));
        try {
            return method.MakeGenericMethod(types);
        } catch (global::System.ArgumentException error) {
            throw new Unfit(error.Message);
        }
    }

    private static void Bind(global::System.Type type, object value, Dictionary<global::System.Type, global::System.Type> known) {
        if (type.IsGenericParameter) {
            if (!known.ContainsKey(type) && value != null) known[type] = Decoded(value, typeof(object)).GetType();
            return;
        }
        var inner = type.IsArray ? new[] { type.GetElementType() } : type.GetGenericArguments();
        var map = value as Pairs;
        var list = value as IEnumerable<object>;
        if (map != null && inner.Length == 2) {
            foreach (var pair in map) {
                Bind(inner[0], pair.Key, known);
                Bind(inner[1], pair.Value, known);
            }
        } else if (list != null && inner.Length == 1) {
            foreach (var item in list) Bind(inner[0], item, known);
        }
    }

    private static object[] Decoded(global::System.Reflection.ParameterInfo[] parameters, bool spread, List<object> given) {
        int last = parameters.Length - 1;
        if (spread && (last < 0 || !parameters[last].IsDefined(typeof(global::System.ParamArrayAttribute), false) || given.Count < last)) {
            throw new Unfit("there are " + given.Count);
        }
        if (!spread && given.Count > parameters.Length) throw new Unfit("there are " + given.Count);
        var found = new object[parameters.Length];
        for (int at = 0; at < parameters.Length; at++) {
            var type = parameters[at].ParameterType;
            if (spread && at == last) found[at] = Decoded(given.GetRange(last, given.Count - last), type);
            else if (at < given.Count) found[at] = Decoded(given[at], type.IsByRef ? type.GetElementType() : type);
            else if (parameters[at].IsOptional) found[at] = parameters[at].DefaultValue;
            else throw new Unfit("there are " + given.Count);
        }
        return found;
    }

    // How far a type is from a value, to choose among overloaded methods.
    private static int Cost(object value, global::System.Type type) {
        if (value is decimal) return global::System.Array.IndexOf(Integers, type) & 127;
        return type == typeof(object) ? 100 : 0;
    }

    // A value of a request as a parameter's type wants it.
    private static object Decoded(object value, global::System.Type type) {
        var inner = global::System.Nullable.GetUnderlyingType(type);
        object found = null;
        if (value == null) {
            if (!type.IsValueType || inner != null) return null;
        } else if (inner != null) {
            return Decoded(value, inner);
        } else if (value is decimal) {
            found = Integer((decimal)value, type);
        } else if (value is double) {
            if (type == typeof(float)) found = (float)(double)value;
            else if (type == typeof(decimal)) found = (decimal)(double)value;
            else if (type.IsInstanceOfType(value)) found = value;
        } else if (value is bool) {
            if (type.IsInstanceOfType(value)) found = value;
        } else if (value is string) {
            if (type == typeof(char) && ((string)value).Length == 1) found = ((string)value)[0];
            else if (type.IsInstanceOfType(value)) found = value;
        } else if (value is byte[]) {
            if (type.IsAssignableFrom(typeof(byte[]))) found = value;
        } else if (value is Pairs) {
            found = Map((Pairs)value, type);
        } else {
            found = Collection(new List<object>((IEnumerable<object>)value), value is HashSet<object>, type);
        }
        if (found == null) throw new Unfit(Shown(value) + " as " + type);
        return found;
    }

    private static string Shown(object value) {
        if (value == null) return "null";
        if (value is string) return '"' + (string)value + '"';
        return value is Number ? ((Number)value).ToString(null, Plain) : value is bool ? value.ToString() : "a collection";
    }

    private static object Integer(decimal value, global::System.Type type) {
        try {
            if (type.IsPrimitive && type != typeof(bool) && type != typeof(char) || type == typeof(decimal)) {
                return global::System.Convert.ChangeType(value, type, Plain);
            }
        } catch (global::System.OverflowException) {
            return null;
        }
        if (!type.IsAssignableFrom(typeof(int))) return null;
        if (value >= int.MinValue && value <= int.MaxValue) return (int)value;
        return value >= long.MinValue && value <= long.MaxValue ? (object)(long)value : value;
    }

    private static global::System.Type Parameter(global::System.Type type, int at) {
        var inner = type.GetGenericArguments();
        return at < inner.Length ? inner[at] : typeof(object);
    }

    private static object Map(Pairs value, global::System.Type type) {
        var plain = typeof(Dictionary<,>).MakeGenericType(type.GetGenericArguments().Length == 2
            ? type.GetGenericArguments() : new[] { typeof(object), typeof(object) });
        var made = type.IsAssignableFrom(plain) ? plain : type;
        if (!typeof(global::System.Collections.IDictionary).IsAssignableFrom(made)) return null;
        var found = (global::System.Collections.IDictionary)global::System.Activator.CreateInstance(made);
        foreach (var pair in value) found.Add(Decoded(pair.Key, Parameter(made, 0)), Decoded(pair.Value, Parameter(made, 1)));
        return found;
    }

    private static object Collection(List<object> items, bool set, global::System.Type type) {
        if (type.IsArray && type.GetArrayRank() == 1) return Row(items, type.GetElementType());
        if (type.IsArray) return Grid(items, type);
        if (typeof(global::System.Runtime.CompilerServices.ITuple).IsAssignableFrom(type)
                || Bare(type) == "KeyValuePair" && items.Count == 2) {
            var types = type.GetGenericArguments();
            if (types.Length != items.Count) return null;
            var values = new object[items.Count];
            for (int at = 0; at < values.Length; at++) values[at] = Decoded(items[at], types[at]);
            return global::System.Activator.CreateInstance(type, values);
        }
        var of = type.IsGenericType ? Parameter(type, 0) : typeof(object);
        var usual = set ? new[] { typeof(HashSet<>), typeof(List<>) } : new[] { typeof(List<>), typeof(HashSet<>) };
        foreach (var one in usual) {
            var made = one.MakeGenericType(of);
            if (type.IsAssignableFrom(made)) return global::System.Activator.CreateInstance(made, Row(items, of));
        }
        if (!typeof(global::System.Collections.IEnumerable).IsAssignableFrom(type) || !type.IsGenericType) return null;
        try {
            return global::System.Activator.CreateInstance(type, Row(items, of));
        } catch (global::System.MissingMethodException) {
            return null;
        }
    }

    private static global::System.Array Row(List<object> items, global::System.Type of) {
        var array = global::System.Array.CreateInstance(of, items.Count);
        for (int at = 0; at < items.Count; at++) array.SetValue(Decoded(items[at], of), at);
        return array;
    }

    private static object Grid(List<object> rows, global::System.Type type) {
        int width = rows.Count == 0 ? 0 : (rows[0] as List<object> ?? new List<object>()).Count;
        if (type.GetArrayRank() != 2) return null;
        var array = global::System.Array.CreateInstance(type.GetElementType(), rows.Count, width);
        for (int at = 0; at < rows.Count; at++) {
            var row = rows[at] as List<object>;
            if (row == null || row.Count != width) return null;
            for (int column = 0; column < width; column++) array.SetValue(Decoded(row[column], type.GetElementType()), at, column);
        }
        return array;
    }

    private static void Encode(object value, global::System.Text.StringBuilder to, int depth) {
        if (depth > Depth) throw new Unfit("a value too deep");
        var task = value as global::System.Threading.Tasks.Task;
        if (task != null) {
            task.GetAwaiter().GetResult();
            var result = task.GetType().GetProperty("Result");
            value = result == null || result.PropertyType.Name == "VoidTaskResult" ? null : result.GetValue(task, null);
        }
        var items = value as global::System.Collections.IEnumerable;
        var grid = value as global::System.Array;
        if (value == null || value is bool) {
            to.Append(value == null ? " n" : (bool)value ? " t" : " f");
        } else if (value is double || value is float) {
            to.Append(" r").Append(((Number)value).ToString("R", Plain));
        } else if (global::System.Array.IndexOf(Integers, value.GetType()) >= 0 || value.GetType().FullName == "System.Numerics.BigInteger") {
            to.Append(" r").Append(((Number)value).ToString(null, Plain));
        } else if (value is string || value is char || value is global::System.Text.StringBuilder) {
            to.Append(Text(value.ToString()));
        } else if (value is byte[]) {
            to.Append(" b").Append(Digits((byte[])value));
        } else if (value is global::System.Collections.IDictionary) {
            var flat = new List<object>();
            foreach (global::System.Collections.DictionaryEntry pair in (global::System.Collections.IDictionary)value) {
                flat.Add(pair.Key);
                flat.Add(pair.Value);
            }
            EncodeAll('m', flat, to, depth);
        } else if (value is global::System.Runtime.CompilerServices.ITuple) {
            var tuple = (global::System.Runtime.CompilerServices.ITuple)value;
            to.Append(" p").Append(tuple.Length);
            for (int at = 0; at < tuple.Length; at++) Encode(tuple[at], to, depth + 1);
        } else if (Bare(value.GetType()) == "KeyValuePair") {
            var parts = new[] { "Key", "Value" };
            EncodeAll('p', global::System.Array.ConvertAll(parts, one => value.GetType().GetProperty(one).GetValue(value, null)), to, depth);
        } else if (grid != null && grid.Rank == 2) {
            to.Append(" l").Append(grid.GetLength(0));
            for (int at = 0; at < grid.GetLength(0); at++) {
                to.Append(" l").Append(grid.GetLength(1));
                for (int column = 0; column < grid.GetLength(1); column++) Encode(grid.GetValue(at, column), to, depth + 2);
            }
        } else if (items != null && !(grid != null && grid.Rank > 2)) {
            EncodeAll(global::System.Array.Exists(value.GetType().GetInterfaces(), one => Bare(one) == "ISet") ? 'u' : 'l', items, to, depth);
        } else {
            throw new Unfit(value.GetType().ToString());
        }
        if (to.Length > Length) throw new Unfit("a value too long");
    }

    private static void EncodeAll(char kind, global::System.Collections.IEnumerable items, global::System.Text.StringBuilder to, int depth) {
        var inner = new global::System.Text.StringBuilder();
        int size = 0;
        foreach (var item in items) {
            Encode(item, inner, depth + 1);
            size++;
        }
        to.Append(' ').Append(kind).Append(size).Append(inner);
    }

    private static string Text(string text) {
        return " s" + Digits(new global::System.Text.UTF8Encoding(false).GetBytes(text));
    }

    private static string Digits(byte[] bytes) {
        return global::System.BitConverter.ToString(bytes).Replace("-", "");
    }

    // The next value of a request: words as plainvalues.py writes them. Integers are decimals, other numbers doubles.
    private static object Next(IEnumerator<string> words) {
        words.MoveNext();
        char letter = words.Current[0];
        string rest = words.Current.Substring(1);
        decimal whole;
        switch (letter) {
            case 'n': return null;
            case 't': return true;
            case 'f': return false;
            case 'i': return decimal.TryParse(rest, global::System.Globalization.NumberStyles.AllowLeadingSign, Plain, out whole)
                ? (object)whole : double.Parse(rest, Plain);
            case 'r': return rest == "nan" ? double.NaN : rest == "inf" ? double.PositiveInfinity : rest == "-inf" ? double.NegativeInfinity
                : double.Parse(rest, Plain);
            case 's': case 'b':
                var bytes = new byte[rest.Length / 2];
                for (int at = 0; at < bytes.Length; at++) bytes[at] = global::System.Convert.ToByte(rest.Substring(2 * at, 2), 16);
                return letter == 'b' ? (object)bytes : new global::System.Text.UTF8Encoding(false).GetString(bytes);
        }
        var items = new List<object>();
        for (int left = int.Parse(rest, Plain); left > 0; left--) items.Add(Next(words));
        if (letter == 'u') return new HashSet<object>(items);
        if (letter != 'o' && letter != 'm') return items;
        var map = new Pairs();
        for (int at = 0; at < items.Count; at += 2) map.Add(new KeyValuePair<object, object>(items[at], items[at + 1]));
        return map;
    }
}
