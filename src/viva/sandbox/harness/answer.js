'use strict';
// Runs the program alone and answers calls of its functions, one line of JSON at a time (see calls.py). Nothing secret is in
// this process: whatever the program does here, it can only choose what it answers.
(() => {
    const fs = require('fs');
    const vm = require('vm');
    const { lines, mainModule, parameters } = require('./lines.js');
    const { parse, stringify } = JSON;
    const { fromEntries, getOwnPropertyDescriptor, getPrototypeOf, keys } = Object;
    const { isArray } = Array;
    const { apply } = Reflect;
    const setImmediate_ = setImmediate;
    const { isTypedArray, isArrayBuffer, isBoxedPrimitive, isDate, isMap, isNativeError, isPromise, isProxy, isRegExp, isSet } =
        require('util').types;
    const { exit } = process;
    const tag = (value) => apply(Object.prototype.toString, value, []);
    const DEPTH = 64;
    const LONGEST = 16_000_000;

    const own = (name) => getOwnPropertyDescriptor(globalThis, name);
    const builtin = new Map(Object.getOwnPropertyNames(globalThis).map((name) => [name, own(name)]));
    const linked = process.argv.includes('linked');
    const { connect, named } = linked ? require('./peer.js') : {};
    const library = [...(named ?? [])].filter(([where]) => !/\.(?!prototype$)/.test(where));
    const known = new Map(library.map(([where, owner]) => [where, new Set(Reflect.ownKeys(owner))]));
    // What the program added to the language's own objects.
    function added() {
        return library.flatMap(([where, owner]) => {
            const names = Reflect.ownKeys(owner).filter((name) => typeof name === 'string' && !known.get(where).has(name));
            return names.map((name) => {
                const { get, value } = getOwnPropertyDescriptor(owner, name);
                return [where, name, get ? 'get' : 'value', get ?? value];
            });
        });
    }

    class Unknown {
        constructor(what) {
            this.what = what;
        }
    }
    const kind = (value) => {
        try {
            return Object(value).constructor.name || tag(value).slice('[object '.length, -1);
        } catch {
            return typeof value;
        }
    };

    // A value as JSON with tags. Numbers of any size are written as they are; what a tag could be taken for is doubled.
    function encode(value, depth = 0) {
        if (depth > DEPTH) throw new Unknown(`a value deeper than ${DEPTH}`);
        const list = (values) => `[${Array.from(values, (each) => encode(each, depth + 1)).join()}]`;
        const object = (entries) =>
            `{${entries
                .map(([name, each]) => `${stringify(name.startsWith('$') ? '$' + name : name)}:${encode(each, depth + 1)}`)
                .join()}}`;
        if (value === null || value === undefined) return 'null';
        if (typeof value === 'string' || typeof value === 'boolean') return stringify(value);
        if (typeof value === 'bigint') return value.toString();
        if (typeof value === 'number') {
            if (Number.isFinite(value)) return String(value);
            return `{"$float":"${Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf'}"}`;
        }
        if (typeof value !== 'object') throw new Unknown(typeof value);
        if (isArray(value)) return list(value);
        if (isSet(value)) return `{"$set":${list(value)}}`;
        if (isMap(value)) {
            const entries = [...value];
            return entries.every(([key]) => typeof key === 'string') ? object(entries) : `{"$map":${list(entries)}}`;
        }
        if (isArrayBuffer(value)) value = new Uint8Array(value);
        if (value instanceof Uint8Array) return `{"$bytes":"${Buffer.from(value).toString('base64')}"}`;
        if (isTypedArray(value)) return list(value);
        if (isBoxedPrimitive(value)) return encode(value.valueOf(), depth + 1);
        const opaque = isPromise(value) || isDate(value) || isRegExp(value) || isNativeError(value);
        if (opaque || typeof value[Symbol.iterator] === 'function') throw new Unknown(kind(value));
        return object(keys(value).map((name) => [name, value[name]]).filter(([, each]) => each !== undefined));
    }

    // JSON.parse would round integers that no double holds.
    const LARGE = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
    const whole = (text) =>
        text.length > 15 && /^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text)) ? `{"$large":"${text}"}` : text;
    const parsed = (line) => parse(line.replace(LARGE, whole));

    function decode(value) {
        if (isArray(value)) return value.map(decode);
        if (typeof value !== 'object' || value === null) return value;
        const [[name, content] = [], ...others] = Object.entries(value);
        if (!others.length) {
            if (name === '$large') return BigInt(content);
            if (name === '$tuple' || name === '$array') return decode(content);
            if (name === '$set') return new Set(decode(content));
            if (name === '$map') return new Map(decode(content));
            if (name === '$bytes') return Buffer.from(content, 'base64');
            if (name === '$float') return { nan: NaN, inf: Infinity, '-inf': -Infinity }[content];
        }
        const entries = Object.entries(value);
        return fromEntries(entries.map(([key, each]) => [key.startsWith('$$') ? key.slice(1) : key, decode(each)]));
    }

    function raised(error) {
        const bases = [];
        let type = kind(error);
        let message = '';
        try {
            if (type === 'Error' && typeof error.name === 'string') type = error.name;
            for (let at = error; typeof at === 'object' && at !== null && bases.length < 20; at = getPrototypeOf(at)) {
                if (typeof at.constructor === 'function' && at !== error) bases.push(at.constructor.name.slice(0, 200));
            }
            message = String(isNativeError(error) || isProxy(error) ? error.message : error);
        } catch {}
        return stringify({ type: type.slice(0, 200), message: message.slice(0, 1000), bases });
    }

    const { line, send } = lines(3, 4);
    function reply(id, value) {
        let text;
        try {
            text = `"returns":${encode(value)}`;
            if (text.length > LONGEST) throw new Unknown('a value longer than 16 megabytes');
        } catch (error) {
            text = error instanceof Unknown ? `"unknown":${stringify(error.what)}` : `"raises":${raised(error)}`;
        }
        send(`{"id":${id},${text}}`);
    }
    const fail = (id, error) => send(`{"id":${id},"raises":${raised(error)}}`);

    const [main, given] = mainModule();
    // What a name means in the program: at its top level, or among what it exports; nothing that was there before it.
    let inside = null;
    function found(name) {
        if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name)) return undefined;
        try {
            const value = inside(name);
            const before = builtin.get(name);
            if (value !== undefined && !(before && before.value === own(name)?.value && before.get === own(name)?.get)) {
                return value;
            }
            if (before && value !== globalThis[name]) return value;
        } catch (error) {
            if (error instanceof SyntaxError) return undefined;
        }
        const whole = [main.exports, main.exports?.default].find((each) => typeof each === 'function' && each.name === name);
        return main.exports?.[name] ?? whole;
    }
    // For a test of source code in a process of its own (peer.js): which of its names are the program's, and what they mean.
    function link() {
        const end = (error) => apply(exit, process, [error ? 1 : 0]);
        const serving = {
            names: (_, candidates) => [candidates.filter(declared), added()],
            name: (name) => inside(name),
        };
        const [reading, writing] = process.argv.slice(-2).map(Number);
        const peer = connect({ side: 'p', reading, writing, serving, broken: end, ended: end });
        // While the test runs, nothing of the program's happens that it did not ask for: timers wait until it waits itself.
        let idle = 0;
        let latest = 0;
        peer.hooks.idle = (number) => (latest = idle = number);
        const hold = () => {
            while (!idle) take(peer.receive());
            socket ??= peer.listen(turn);
            socket.unref();
            if (peer.waiting()) later();
        };
        // What came behind a reply, or behind the word that the test is idle, waits where no event announces it.
        const later = (peer.hooks.left = () => setImmediate_(turn));
        const turn = () => {
            if (!peer.waiting()) return;
            take(peer.receive());
            hold();
        };
        const take = (message) => {
            idle = 0;
            peer.dispatch(message);
        };
        let socket = null;
        process.on('beforeExit', () => {
            if (socket === null) return;
            peer.announce('drained', latest);
            socket.ref();
        });
        hold();
    }
    function declared(name) {
        try {
            inside(name);
            return !builtin.has(name) || found(name) !== undefined;
        } catch {
            return false;
        }
    }
    function target(path) {
        const [name, ...members] = path.split('.');
        let owner;
        let value = found(name);
        for (const member of members) [owner, value] = [value, value?.[member]];
        return typeof value === 'function' ? [owner, value] : null;
    }

    let pending = 0;
    let serial = 0;
    function serve() {
        for (;;) {
            const text = line();
            if (text === null) apply(exit, process, [0]);
            const { id, call, args } = parsed(text);
            const wanted = target(call);
            if (!wanted) {
                send(`{"id":${id},"missing":${stringify(`no function ${call}`)}}`);
                continue;
            }
            const [owner, value] = wanted;
            let result;
            let then;
            try {
                result = apply(value, owner, args.map(decode));
                then = typeof result === 'object' || typeof result === 'function' ? result?.then : undefined;
                if (typeof then === 'function') {
                    const turn = ++serial;
                    pending = id;
                    const settled = (how) => (what) => {
                        if (turn !== serial || pending !== id) return;
                        pending = 0;
                        how(id, what);
                        setImmediate_(serve);
                    };
                    apply(then, result, [settled(reply), settled(fail)]);
                    return;
                }
            } catch (error) {
                pending = 0;
                fail(id, error);
                continue;
            }
            reply(id, result);
        }
    }
    process.on('beforeExit', () => {
        if (!pending) return;
        const id = pending;
        pending = 0;
        send(`{"id":${id},"raises":{"type":"NeverSettled","message":"nothing is left to do, and its promise is pending"}}`);
        serve();
    });

    const typescript = process.argv.includes('typescript');
    let program = fs.readFileSync(typescript ? 'main.ts' : 'main.js', 'utf8');
    if (typescript) program = require('./typescript.js').transpiled(program);
    vm.compileFunction(program, parameters, { filename: 'main.js' });  // a syntax error is the program's own
    const text = `(function(${parameters}){${program}\n;return function(){return eval(arguments[0])}})`;
    const body = new vm.Script(text, { filename: 'main.js' }).runInThisContext();
    const looked = apply(body, main.exports, given);
    inside = typeof looked === 'function' ? looked : () => undefined;
    if (linked) link();
    else serve();
})();
