'use strict';
// Values, calls and promises between two processes, each of which is the other's peer: the test's (side "t") and the
// program's (side "p"). What is made of lists, maps, dates and the like crosses by value, and keeps who it is: what comes
// back is the same object, with what was changed in it. Functions, instances of classes, generators cross by handle: a
// proxy that asks for everything. The test's side believes nothing of what it is sent but values.
const fs = require('fs');
const net = require('net');
const { types } = require('util');
const { ownKeys, getPrototypeOf, defineProperty, apply, construct } = Reflect;
const { getOwnPropertyDescriptor } = Object;
const { parse, stringify } = JSON;
const { readSync, writeSync } = fs;
const { from, alloc, concat } = Buffer;

const ERRORS = ['Error', 'TypeError', 'RangeError', 'SyntaxError', 'ReferenceError', 'EvalError', 'URIError', 'AggregateError'];
const RECENT = 30;
const SMALL = 20_000;
const SLOTTED = /^(Map|Set|Weak\w+|Date|RegExp|Promise|Number|String|Boolean|BigInt|Symbol|ArrayBuffer|DataView|Buffer|\w+\dArray)\.prototype\./;
// What calls and changes whatever it is given. The program has its own; sent to the test's side it would work there.
const ABLE = /^(Reflect|Object|Proxy|Promise|Array|JSON|Atomics|WebAssembly)\.(?!prototype\b)|^Function\.prototype\.|^Object\.prototype\.__/;
const HIDDEN = new Set(['caller', 'arguments', 'prototype', 'constructor']);

// What both sides have of their own, by the same name.
const named = new Map();
const names = new Map();
const know = (name, value) => {
    const kind = typeof value;
    if (((kind === 'object' && value !== null) || kind === 'function') && !names.has(value)) {
        names.set(value, name);
        named.set(name, value);
    }
};
for (const name of [...Object.getOwnPropertyNames(globalThis), 'Buffer']) {
    const value = getOwnPropertyDescriptor(globalThis, name)?.value ?? (name === 'Buffer' ? Buffer : null);
    if (!/^[A-Z]|^(set|clear|parse|is|structuredClone|queueMicrotask|console)/.test(name) || Object(value) !== value) continue;
    know(name, value);
    for (const [where, owner] of [[name, value], [`${name}.prototype`, value.prototype]]) {
        if (!owner) continue;
        know(where, owner);
        for (const key of ownKeys(owner)) {
            const each = getOwnPropertyDescriptor(owner, key).value;
            if (typeof key === 'string' && typeof each === 'function') know(`${where}.${key}`, each);
        }
    }
}
const SAMPLES = { generator: function* () {}, later: async () => {}, both: async function* () {} };
know('eval', eval);
for (const [name, sample] of Object.entries(SAMPLES)) {
    know(`${name} maker`, sample.constructor);
    for (let at = getPrototypeOf(sample), depth = 0; at; at = getPrototypeOf(at), depth++) {
        know(`${name} ${depth}`, at);
        for (let inner = at.prototype, deep = 0; inner; inner = getPrototypeOf(inner), deep++) {
            know(`${name} ${depth} ${deep}`, inner);
        }
    }
}
// What makes code of texts. Each side may name it; the test's side never takes it from the program's.
const makers = new Set(['Function', 'eval', ...Object.keys(SAMPLES).map((name) => `${name} maker`)]);
const withholds = (name) => makers.has(name) || ABLE.test(name) || name === 'Function.prototype';
const MAP = (value) => apply(Map.prototype.entries, value, []);
const SET = (value) => apply(Set.prototype.values, value, []);
const symbols = new Map(Object.getOwnPropertyNames(Symbol).map((name) => [Symbol[name], name]));

class Broken extends Error {}

exports.named = named;
exports.connect = ({ side, reading, writing, serving = {}, fatal = () => false, withheld = () => false, broken, ended }) => {
    const ids = new Map();
    const objects = new Map();
    const contents = new Map();
    const kinds = new Map();
    const told = new Set();
    const theirs = new Set();
    const settlers = new Map();
    const recent = new Set();
    const made = new Set();  // what the test made by a class of the program's, and what came of that
    let count = 0;

    // ---- writing
    const flagsOf = (value) =>
        Object.isFrozen(value) ? 2 : Object.isSealed(value) ? 1 : Object.isExtensible(value) ? 0 : 3;
    const plain = (value) =>
        ownKeys(value).every((key) => {
            const { enumerable, get, set } = getOwnPropertyDescriptor(value, key);
            return (enumerable && !get && !set) || (key === 'length' && Array.isArray(value));
        });
    const entries = (value, node, skip = () => false) =>
        ownKeys(value).filter((key) => !skip(key)).map((key) => [node(key), node(value[key])]);

    function describe(value, node, known) {
        if (typeof value === 'symbol') return ['S', value.description ?? null];
        if (typeof value === 'function') return ['f'];
        if (types.isProxy(value)) return ['i'];
        const prototype = getPrototypeOf(value);
        if (types.isPromise(value)) return ['p'];
        if (Array.isArray(value) && (prototype === Array.prototype || !making) && (known || plain(value))) {
            const items = [];
            for (let at = 0; at < value.length; at++) items.push(at in value ? node(value[at]) : { e: 1 });
            const more = entries(value, node, (key) => key === 'length' || /^\d+$/.test(String(key)));
            return ['a', items, more, flagsOf(value)];
        }
        if ((prototype === Object.prototype || prototype === null) && !types.isArgumentsObject(value)) {
            if (value === globalThis || !(known || plain(value))) return ['i'];
            return ['o', entries(value, node), flagsOf(value), prototype ? 0 : 1];
        }
        if (types.isNativeError(value) && ERRORS.includes(names.get(prototype)?.split('.')[0])) {
            const own = entries(value, node, (key) => key === 'stack');
            return ['e', names.get(prototype).split('.')[0], own, side === 'p' ? String(value.stack) : ''];
        }
        if (ownKeys(value).length && !types.isTypedArray(value) && !types.isRegExp(value) && !types.isBoxedPrimitive(value)) {
            return ['i'];
        }
        if (types.isMap(value) && !making) return ['m', [...MAP(value)].map(([key, each]) => [node(key), node(each)])];
        if (types.isSet(value) && !making) return ['s', [...SET(value)].map(node)];
        if (prototype === Map.prototype) return ['m', [...value].map(([key, each]) => [node(key), node(each)])];
        if (prototype === Set.prototype) return ['s', [...value].map(node)];
        if (prototype === Date.prototype) return ['d', Number.isNaN(+value) ? null : +value];
        if (prototype === RegExp.prototype) return ['x', value.source, value.flags, value.lastIndex];
        if (types.isArrayBuffer(value)) return ['y', 'ArrayBuffer', from(value).toString('base64')];
        if (types.isTypedArray(value) && names.has(prototype)) {
            const bytes = from(value.buffer, value.byteOffset, value.byteLength);
            return ['y', names.get(prototype).split('.')[0], bytes.toString('base64')];
        }
        if (types.isBoxedPrimitive(value)) return ['b', node(value.valueOf())];
        return ['i'];
    }

    function writer() {
        const heap = [];
        const seen = new Set();
        const queue = [];
        const visit = (value, id) => {
            if (seen.has(id) || theirs.has(id) || told.has(id)) return;
            seen.add(id);
            queue.push([value, id]);
        };
        const write = (value, id) => {
            const known = contents.has(id);
            const content = describe(value, node, known);
            if (known && content[0] !== kinds.get(id)) return;
            kinds.set(id, content[0]);
            const text = stringify(content);
            if ('fipS'.includes(content[0])) {
                told.add(id);
                if (content[0] === 'p') follow(value, id);
            } else {
                remember(id, text);
                if (contents.get(id) === text) return;
                contents.set(id, text);
            }
            heap.push(`"${id}":${text}`);
        };
        const node = (value) => {
            switch (typeof value) {
                case 'undefined': return { u: 1 };
                case 'string': case 'boolean': return value;
                case 'number': return Number.isFinite(value) && !Object.is(value, -0) ? value : { n: Object.is(value, -0) ? '-0' : String(value) };
                case 'bigint': return { b: String(value) };
                case 'symbol':
                    if (symbols.has(value)) return { y: symbols.get(value) };
                    if (Symbol.keyFor(value) !== undefined) return { Y: Symbol.keyFor(value) };
            }
            if (value === null) return null;
            if (names.has(value) && (side === 't' || !ABLE.test(names.get(value)))) return { i: names.get(value) };
            let id = ids.get(value);
            if (id === undefined) {
                if (withheld(value)) return null;
                id = side + ++count;
                ids.set(value, id);
                objects.set(id, value);
            }
            if (theirs.has(id) && types.isPromise(value)) Promise.prototype.then.call(value, undefined, () => {});
            visit(value, id);
            return { r: id };
        };
        const written = () => {
            for (let next = queue.pop(); next; next = queue.pop()) write(...next);
            return heap.join();
        };
        return { node, visit, written };
    }
    function remember(id, text) {
        recent.delete(id);
        if (text.length > SMALL) return;
        recent.add(id);
        if (recent.size > RECENT) recent.delete(recent.values().next().value);
    }
    // A promise is looked after from the moment when it crosses.
    function follow(promise, id) {
        Promise.prototype.then.call(promise, (value) => post({ s: id }, { v: value }), (error) => {
            if (!fatal(error)) post({ s: id }, { x: error });
        });
    }
    function post(head, values, lists = {}) {
        if (!('a' in head || 'idle' in head)) hooks.asked?.();
        const { node, visit, written } = writer();
        const parts = Object.entries(head).map(([name, each]) => `"${name}":${stringify(each)}`);
        for (const [name, each] of Object.entries(values)) parts.push(`"${name}":${stringify(node(each))}`);
        for (const [name, each] of Object.entries(lists)) parts.push(`"${name}":${stringify(each.map(node))}`);
        for (const id of [...recent]) visit(objects.get(id), id);
        send(`{${parts.join()},"heap":{${written()}}}`);
    }
    function send(text) {
        const bytes = from(text + '\n');
        try {
            for (let at = 0; at < bytes.length;) at += writeSync(writing, bytes, at);
        } catch {
            ended();
        }
    }

    // ---- reading
    // A method of the language's that looks into what it is called on, which for a handle is on the other side.
    const method = (found, key) =>
        new Proxy(found, {
            apply: (_, self, given) =>
                theirs.has(ids.get(self)) ? request('invoke', ids.get(self), { k: key }, { l: given }) : apply(found, self, given),
        });
    const proxyOf = (id, callable) => {
        const target = callable ? function () {}.bind() : {};
        const ask = (op, values, lists) => request(op, id, values, lists);
        const keys = () => new Map(ask('keys', {}));
        return new Proxy(target, {
            get: (_, key) => {
                if (callable && key === Symbol.hasInstance) {
                    return (value) => ask('isa', { v: value }) && (ids.get(value)?.startsWith(side) === false || hooks.decided(), true);
                }
                const found = ask('get', { k: key });
                return SLOTTED.test(names.get(found) ?? '') ? method(found, key) : found;
            },
            set: (_, key, value) => (ask('set', { k: key, v: value }), true),
            // Which keys somebody looks for tells what is expected: all are asked for.
            has: (it, key) => keys().has(key) || Reflect.has(ask('prototype', {}) ?? it, key),
            deleteProperty: (_, key) => ask('delete', { k: key }) === true,
            ownKeys: () => [...keys().keys()],
            getOwnPropertyDescriptor: (_, key) => {
                const enumerable = keys().get(key);
                return enumerable === undefined ? enumerable : { value: ask('get', { k: key }), writable: true, enumerable, configurable: true };
            },
            defineProperty: (_, key, { value }) => ask('set', { k: key, v: value }) === true,
            getPrototypeOf: () => ask('prototype', {}),
            setPrototypeOf: () => false,
            preventExtensions: () => false,
            apply: (_, self, given) => ask('apply', { v: self === hooks.scope ? undefined : self }, { l: given }),
            construct: (_, given) => ask('construct', {}, { l: given }),
        });
    };
    function shell(id, content) {
        const [kind, one, , three] = content;
        switch (kind) {
            case 'a': return [];
            case 'o': return three ? Object.create(null) : {};
            case 'm': return new Map();
            case 's': return new Set();
            case 'd': return new Date(one === null ? NaN : one);
            case 'x': return new RegExp(one, content[2]);
            case 'y': {
                const bytes = from(String(content[2]), 'base64');
                if (one === 'Buffer') return bytes;
                const kept = new Uint8Array(bytes).buffer;
                if (one === 'ArrayBuffer') return kept;
                if (/^(Big)?(Ui|I)nt\d+(Clamped)?Array$|^Float\d+Array$/.test(one)) return new (named.get(one))(kept);
                break;
            }
            case 'b': return Object(value(one));
            case 'e': if (ERRORS.includes(one)) return construct(named.get(one), one === 'AggregateError' ? [[]] : []); break;
            case 'p': {
                const promise = new Promise((resolve, reject) => settlers.set(id, { resolve, reject }));
                theirs.add(id);
                return promise;
            }
            case 'f': case 'i': theirs.add(id); return proxyOf(id, kind === 'f');
            case 'S': theirs.add(id); return Symbol(one ?? undefined);
        }
        throw new Broken(`no value is of the kind ${kind}`);
    }
    const put = (object, key, each) =>
        defineProperty(object, key, { value: each, writable: true, enumerable: true, configurable: true });
    function seal(object, flags) {
        if (flags === 2) Object.freeze(object);
        if (flags === 1) Object.seal(object);
        if (flags === 3) Object.preventExtensions(object);
    }
    function only(object, pairs, skip) {
        const wanted = new Set(pairs.map(([key]) => key));
        for (const key of ownKeys(object)) if (!wanted.has(key) && !skip(key)) Reflect.deleteProperty(object, key);
        for (const [key, each] of pairs) put(object, key, each);
    }
    const pairsOf = (list) => list.map(([key, each]) => [value(key), value(each)]);
    function fill(object, content) {
        const [kind, one, two, three] = content;
        if (kind === 'a') {
            if (!Object.isFrozen(object)) object.length = 0;
            one.forEach((each, at) => (each && each.e ? (object.length = at + 1) : put(object, at, value(each))));
            const own = ([key]) => side === 'p' || !(key in Array.prototype);  // what a list is asked is the language's
            only(object, pairsOf(two).filter(own), (key) => key === 'length' || /^\d+$/.test(String(key)));
            seal(object, three);
        } else if (kind === 'o') {
            only(object, pairsOf(one), () => false);
            seal(object, two);
        } else if (kind === 'm' || kind === 's') {
            object.clear();
            for (const each of one) kind === 'm' ? object.set(value(each[0]), value(each[1])) : object.add(value(each));
        } else if (kind === 'd') {
            object.setTime(one === null ? NaN : one);
        } else if (kind === 'x') {
            object.lastIndex = three;
        } else if (kind === 'y') {
            const bytes = ArrayBuffer.isView(object)
                ? from(object.buffer, object.byteOffset, object.byteLength) : from(object);
            from(two, 'base64').copy(bytes);
        } else if (kind === 'e') {
            for (const [key, each] of pairsOf(two)) defineProperty(object, key, { value: each, writable: true, configurable: true, enumerable: !['message', 'cause', 'errors'].includes(key) });
            if (three) defineProperty(object, 'stack', { value: String(three), writable: true, configurable: true });
        }
    }
    function take(heap) {
        const news = Object.entries(heap);
        for (const [id, content] of news) {
            if (!objects.has(id)) {
                if (id[0] === side || !/^[tp]\d+$/.test(id)) throw new Broken(`${id} was never sent`);
                const made = shell(id, content);
                objects.set(id, made);
                ids.set(made, id);
            } else if (!contents.has(id) || kinds.get(id) !== content[0]) {
                throw new Broken(`${id} is no value`);
            }
            kinds.set(id, content[0]);
            if (!theirs.has(id)) contents.set(id, stringify(content));
        }
        for (const [id, content] of news) {
            if (theirs.has(id)) continue;
            fill(objects.get(id), content);
            remember(id, contents.get(id));
        }
    }
    function value(node) {
        if (typeof node !== 'object' || node === null) return node;
        const [[kind, one] = []] = Object.entries(node);
        switch (kind) {
            case 'u': return undefined;
            case 'n': return Number(one);
            case 'b': return BigInt(one);
            case 'y': return Symbol[one];
            case 'Y': return Symbol.for(one);
            case 'i': {
                const found = named.get(one);
                if (found && (side === 'p' || lineage || (typeof found === 'function' && !withholds(one)))) return found;
                break;
            }
            case 'r': if (objects.has(one)) return objects.get(one); break;
        }
        throw new Broken('what was sent is no value');
    }

    // ---- talking
    const replies = new Map();
    let serial = 0;
    let inherits = 0;
    let making = false;  // the test makes an object: it stays one, whatever it is over
    let lineage = false;  // prototypes of the test's own side are no values, only what values inherit from
    const hooks = { idle: () => {}, drained: () => {}, decided: () => {} };
    function request(op, handle, values, lists) {
        const number = ++serial;
        if (op === 'prototype') inherits = number;
        post({ q: number, op, h: handle }, values, lists);
        while (!replies.has(number)) dispatch(receive());
        const reply = replies.get(number);
        replies.delete(number);
        if ('x' in reply) throw reply.x;
        if (op === 'construct' || made.has(handle)) made.add(ids.get(reply.v));
        return reply.v;
    }
    // What the other side may ask of an object that was sent by handle. Of the test's functions it learns nothing but what
    // calling them tells.
    function operate(op, target, key, given, list) {
        if (side === 't' && typeof target === 'function' && op !== 'apply' && op !== 'construct') {
            if (op === 'prototype') return Function.prototype;
            const from = Object.hasOwn(target, key) && !HIDDEN.has(key) ? target : Function.prototype;
            if (op === 'get') return HIDDEN.has(key) ? undefined : from[key];
            return op === 'keys' ? [] : undefined;
        }
        switch (op) {
            case 'get': return target[key];
            case 'invoke':
                if (side === 't' && !SLOTTED.test(names.get(target[key]) ?? '')) break;
                return target[key](...list);
            case 'set': return Reflect.set(target, key, given);
            case 'delete': return Reflect.deleteProperty(target, key);
            case 'keys': return ownKeys(target).map((each) => [each, getOwnPropertyDescriptor(target, each).enumerable]);
            case 'prototype': return getPrototypeOf(target);
            case 'isa': return given instanceof target;
            case 'apply': return apply(target, given, list);
            case 'construct': making = true; return construct(target, list);
        }
        throw new Broken(`nothing is called ${op}`);
    }
    function dispatch(message) {
        if (message === null) return ended();
        try {
            if (message.idle || message.drained) take(message.heap ?? {});
            else understand(message);
        } catch (error) {
            broken(error);
        }
        if (message.idle) hooks.idle(message.idle);
        if (message.drained) hooks.drained(message.drained);
    }
    function understand(message) {
        take(message.heap ?? {});
        if ('a' in message) {
            lineage = message.a === inherits;
            replies.set(message.a, 'x' in message ? { x: value(message.x) } : { v: value(message.v) });
            lineage = false;
        } else if ('s' in message) {
            const { resolve, reject } = settlers.get(message.s) ?? {};
            settlers.delete(message.s);
            if ('x' in message) reject?.(value(message.x));
            else resolve?.(value(message.v));
        } else {
            answer(message);
        }
    }
    function answer({ q: number, op, h: id, k, v, l = [] }) {
        let found;
        let error = null;
        const [key, given, list] = [k, v, null].map((each) => (each === undefined ? undefined : value(each)));
        const those = l.map(value);
        try {
            if (Object.hasOwn(serving, op)) {
                found = serving[op](key, given, those);
            } else {
                if (!told.has(id)) throw new Broken(`${id} was never sent by handle`);
                found = operate(op, objects.get(id), key, given, those);
            }
        } catch (thrown) {
            if (thrown instanceof Broken || fatal(thrown)) throw thrown;
            error = { x: thrown };
        }
        post({ a: number }, error ?? { v: found });
        making = false;
    }

    // ---- lines, read while everything waits for them or, between, as the event loop comes to them
    let buffered = alloc(0);
    let scanned = 0;
    function waiting() {
        const end = buffered.indexOf(10, scanned);
        scanned = end < 0 ? buffered.length : end;
        return end >= 0;
    }
    function buffer() {
        if (!waiting()) return undefined;
        const end = scanned;
        const text = buffered.toString('utf8', 0, end);
        buffered = buffered.subarray(end + 1);
        scanned = 0;
        try {
            return parse(text);
        } catch (error) {
            broken(error);
        }
    }
    const chunk = alloc(65536);
    function receive() {
        for (;;) {
            const message = buffer();
            if (message !== undefined) return message;
            const got = readSync(reading, chunk, 0, chunk.length, null);
            if (got <= 0) return null;
            buffered = concat([buffered, chunk.subarray(0, got)]);
        }
    }
    let socket = null;
    function listen(came) {
        if (socket) return socket;
        socket = new net.Socket({ fd: fs.openSync(`/proc/self/fd/${reading}`, 'r'), readable: true, writable: false });
        socket.on('data', (more) => {
            buffered = concat([buffered, more]);
            came();
        });
        socket.on('end', ended);
        socket.on('error', ended);
        return socket;
    }
    return {
        request, dispatch, receive, waiting, listen, hooks,
        // Whether it is an object of the program's that says for itself what it has in it, and that the test did not make.
        decides: (value) => {
            const id = ids.get(value);
            return id !== undefined && id[0] !== side && !made.has(id)
                && (theirs.has(id) || (kinds.get(id) === 'o' && ownKeys(value).some((key) => typeof value[key] === 'function')));
        },
        announce: (word, number) => post({ [word]: number }, {}), sent: (value) => ids.has(value) && ids.get(value)[0] !== side,
    };
};
