'use strict';
// Values, calls and promises between two processes, each of which is the other's peer: the test's (side "t") and the
// program's (side "p"). What is made of lists, maps, dates and the like crosses by value, and keeps who it is: what comes
// back is the same object, with what was changed in it. For functions, errors and instances of classes there are stubs: they
// have the names that the other side says, ask for what is read by one of these, and send what is called. A name that is
// not among them is never sent. The test's side believes nothing of what it is sent but values.
const { types } = require('util');
const { lines } = require('./lines.js');
const { ownKeys, getPrototypeOf, defineProperty, apply, construct } = Reflect;
const { getOwnPropertyDescriptor } = Object;
const { parse, stringify } = JSON;
const { from } = Buffer;

const ERRORS = ['Error', 'TypeError', 'RangeError', 'SyntaxError', 'ReferenceError', 'EvalError', 'URIError', 'AggregateError'];
const RECENT = 30;
const SMALL = 20_000;
// What stubs inherit from as it is; of all other prototypes the program's own are asked.
const BASES = new Set(['Object', 'Function', ...ERRORS].map((name) => `${name}.prototype`));
const CLASS = /^(?!Function$|Proxy$)[A-Z]\w*$/;
const HIDDEN = { t: /^(constructor|stack|__proto__)$/, p: /^__proto__$/, function: /^(caller|arguments|prototype|length|name)$/ };
const ASKED = new Set([Symbol.iterator, Symbol.asyncIterator, Symbol.toPrimitive]);

// What both sides have of their own, by the same name.
const named = new Map();
const names = new Map();
const know = (name, value) => {
    if (Object(value) !== value || names.has(value)) return;
    names.set(value, name);
    named.set(name, value);
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
const symbols = new Map(Object.getOwnPropertyNames(Symbol).filter((name) => typeof Symbol[name] === 'symbol').map((name) => [Symbol[name], name]));

class Broken extends Error {}

exports.named = named;
exports.connect = ({ side, reading, writing, serving = {}, fatal = () => false, withheld = () => false, members = [], broken, ended }) => {
    const { waiting, line, listen, send: transmit } = lines(reading, writing);
    const ids = new Map();
    const objects = new Map();
    const contents = new Map();
    const kinds = new Map();
    const told = new Set();  // what is described once: promises, symbols, prototypes
    const lent = new Set();  // names of the language's functions that the test gave
    const settlers = new Map();
    const recent = new Set();
    const made = new Set();  // what the test made by a class of the program's, and what came of that
    const theirs = (id) => id !== undefined && id[0] !== side && 'fieSp'.includes(kinds.get(id));
    let count = 0;

    // ---- writing
    const plain = (value) =>
        ownKeys(value).every((key) => {
            const { enumerable, get, set } = getOwnPropertyDescriptor(value, key);
            return (enumerable && !get && !set) || (key === 'length' && Array.isArray(value));
        });
    const entries = (value, node, skip = () => false) =>
        ownKeys(value).filter((key) => !skip(key)).map((key) => [node(key), node(value[key])]);
    // By other symbols the language itself would ask the program.
    const crosses = (key) => typeof key === 'string' || ASKED.has(key) || (typeof key === 'symbol' && !symbols.has(key));
    const shows = (key, value) =>
        typeof key === 'string' ? !HIDDEN[side].test(key) && !HIDDEN[typeof value]?.test(key) : ASKED.has(key);

    // Of a stub: what it inherits from, and its names with whether they are listed.
    function outline(value, node, once) {
        try {
            const isFunction = typeof value === 'function';
            const above = getPrototypeOf(value);
            const language = /prototype$/.test(names.get(value)) ? value : isFunction && typeof above !== 'function' ? Function.prototype : above;
            const byName = language === null || BASES.has(names.get(language)) || language === value || (side === 't' && names.has(language));
            const keys = isFunction && side === 't' ? [] : ownKeys(value).filter((key) => shows(key, value));
            return [
                byName ? language && { i: names.get(language) } : once(above),
                keys.map((key) => [node(key), getOwnPropertyDescriptor(value, key).enumerable]),
                ...(isFunction ? [String(value.name), Number(value.length), Object(value.prototype) === value.prototype ? once(value.prototype) : null] : []),
            ];
        } catch {
            return [{ i: 'Object.prototype' }, []];
        }
    }
    function describe(value, node, known, once) {
        if (typeof value === 'symbol') return ['S', value.description ?? null];
        const stub = (kind) => [kind, types.isProxy(value), ...outline(value, node, once)];
        if (typeof value === 'function') return stub('f');
        if (types.isProxy(value)) return stub('i');
        const prototype = getPrototypeOf(value);
        if (types.isPromise(value)) return ['p'];
        if (Array.isArray(value) && (prototype === Array.prototype || !making) && (known || plain(value))) {
            const items = [];
            for (let at = 0; at < value.length; at++) items.push(at in value ? node(value[at]) : { e: 1 });
            const more = entries(value, node, (key) => key === 'length' || /^\d+$/.test(String(key)));
            return ['a', items, more, Object.isFrozen(value)];
        }
        if ((prototype === Object.prototype || prototype === null) && !types.isArgumentsObject(value)) {
            if (value === globalThis || !(known || plain(value))) return stub('i');
            return ['o', entries(value, node), Object.isFrozen(value), prototype ? 0 : 1];
        }
        if (types.isNativeError(value)) return stub('e');
        if (ownKeys(value).length && !types.isTypedArray(value) && !types.isRegExp(value) && !types.isBoxedPrimitive(value)) {
            return stub('i');
        }
        const own = !making || names.has(prototype);
        if (types.isMap(value) && own) return ['m', Array.from(apply(Map.prototype.entries, value, []), (pair) => pair.map(node))];
        if (types.isSet(value) && own) return ['s', Array.from(apply(Set.prototype.values, value, []), node)];
        if (prototype === Date.prototype) return ['d', Number.isNaN(+value) ? null : +value];
        if (prototype === RegExp.prototype) return ['x', value.source, value.flags, value.lastIndex];
        if (types.isArrayBuffer(value)) return ['y', 'ArrayBuffer', from(value).toString('base64')];
        if (types.isTypedArray(value) && names.has(prototype)) {
            const bytes = from(value.buffer, value.byteOffset, value.byteLength);
            return ['y', names.get(prototype).split('.')[0], bytes.toString('base64')];
        }
        if (types.isBoxedPrimitive(value)) return ['b', node(value.valueOf())];
        return stub('i');
    }

    function writer() {
        const heap = [];
        const seen = new Set();
        const queue = [];
        const visit = (value, id) => {
            if (seen.has(id) || told.has(id)) return;
            seen.add(id);
            queue.push([value, id]);
        };
        const once = (value) => {
            const found = refer(value);
            told.add(found?.r);
            return found;
        };
        const write = (value, id) => {
            const own = !theirs(id);
            const known = contents.has(id);
            const content = own ? describe(value, node, known, once) : ['+', given(value)];
            if (own ? known && content[0] !== kinds.get(id) : !content[1].length) return;
            if (own) kinds.set(id, content[0]);
            if ('pS'.includes(content[0])) told.add(id);
            if (content[0] === 'p') follow(value, id);
            const text = stringify(content);
            if (!told.has(id)) remember(id, text);
            if (contents.get(id) === text) return;
            contents.set(id, text);
            heap.push(`"${id}":${text}`);
        };
        // What this side gave to a stub, which has only questions of its own.
        const given = (value) => {
            const own = Object.keys(value).map((key) => [key, getOwnPropertyDescriptor(value, key)]);
            return own.filter(([, each]) => !each.get).map(([key, each]) => [key, node(each.value)]);
        };
        const refer = (value) => {
            let id = ids.get(value);
            if (id === undefined) {
                if (withheld(value)) return null;
                id = side + ++count;
                ids.set(value, id);
                objects.set(id, value);
            }
            if (theirs(id) && types.isPromise(value)) Promise.prototype.then.call(value, undefined, () => {});
            visit(value, id);
            return { r: id };
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
            const name = names.get(value);
            if (name !== undefined && (side === 't' || lent.has(name) || (CLASS.test(name) && typeof value === 'function'))) {
                lent.add(name);
                return { i: name };
            }
            return refer(value);
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
    function post(head, values, lists = {}, quiet = false) {
        if (!('a' in head || 'idle' in head)) hooks.asked?.();
        const { node, visit, written } = writer();
        const parts = Object.entries(head).map(([name, each]) => `"${name}":${stringify(each)}`);
        for (const [name, each] of Object.entries(values)) parts.push(`"${name}":${stringify(node(each))}`);
        for (const [name, each] of Object.entries(lists)) parts.push(`"${name}":${stringify(each.map(node))}`);
        if (!quiet) for (const id of [...recent]) visit(objects.get(id), id);
        send(`{${parts.join()},"heap":{${written()}}}`);
    }
    function send(text) {
        try {
            transmit(text);
        } catch {
            ended();
        }
    }

    // ---- reading
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
            case 'p': return new Promise((v, x) => settlers.set(id, { v, x }));
            case 'e': return new Error();
            case 'i': return {};
            case 'f': return function called(...given) {
                const h = objects.get(id);
                return new.target ? request('construct', { h }, given) : request('call', { h, v: this === hooks.scope ? undefined : this }, given);
            };
            case 'S': return Symbol(one ?? undefined);
        }
        throw new Broken(`no value is of the kind ${kind}`);
    }
    const put = (object, key, each) =>
        defineProperty(object, key, { value: each, writable: true, enumerable: true, configurable: true });
    function only(object, pairs, skip) {
        const wanted = new Set(pairs.map(([key]) => key));
        for (const key of ownKeys(object)) if (!wanted.has(key) && !skip(key)) Reflect.deleteProperty(object, key);
        for (const [key, each] of pairs) if (crosses(key)) put(object, key, each);
    }
    const pairsOf = (list) => list.map(([key, each]) => [value(key), value(each)]);
    // A stub as the other side describes it. Of a proxy of the program's the names are asked for that the test reads by.
    function draw(object, [kind, proxy, kin, keys, name, length, prototype]) {
        const above = kin && (/^\w+\.prototype$/.test(kin.i) ? named.get(kin.i) : value(kin));
        if (object !== above) Reflect.setPrototypeOf(object, above ?? null);
        const wanted = new Map(proxy ? members.map((each) => [each, false]) : []);
        for (const [key, listed] of keys) if (crosses(value(key))) wanted.set(value(key), listed);
        for (const key of ownKeys(object)) if (!wanted.has(key) && getOwnPropertyDescriptor(object, key).get) Reflect.deleteProperty(object, key);
        for (const [key, enumerable] of wanted) {
            const asked = (self) => (theirs(ids.get(self)) ? self : object);
            defineProperty(object, key, {
                get() { return request('get', { h: asked(this), k: key }); },
                set(each) { request('set', { h: asked(this), k: key, v: each }); },
                enumerable, configurable: true,
            });
        }
        if (kind !== 'f') return;
        defineProperty(object, 'name', { value: String(name), configurable: true });
        defineProperty(object, 'length', { value: Number(length), configurable: true });
        if (prototype) object.prototype = value(prototype);
    }
    function fill(object, content) {
        const [kind, one, two, three] = content;
        if (kind === '+') {
            for (const [key, each] of one) if (answers(object, key)) Reflect.set(object, key, value(each));
        } else if ('fei'.includes(kind)) {
            draw(object, content);
        } else if (kind === 'a') {
            if (!Object.isFrozen(object)) object.length = 0;
            one.forEach((each, at) => (each && each.e ? (object.length = at + 1) : put(object, at, value(each))));
            const own = ([key]) => side === 'p' || !(key in Array.prototype);  // what a list is asked is the language's
            only(object, pairsOf(two).filter(own), (key) => key === 'length' || /^\d+$/.test(String(key)));
            if (three) Object.freeze(object);
        } else if (kind === 'o') {
            only(object, pairsOf(one), () => false);
            if (two) Object.freeze(object);
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
        }
    }
    function take(heap) {
        const news = Object.entries(heap);
        for (const [id, content] of news) {
            const [kind] = content;
            const mine = id[0] === side;
            if (!objects.has(id)) {
                if (mine || !/^[tp]\d+$/.test(id)) throw new Broken(`${id} was never sent`);
                const made = shell(id, content);
                objects.set(id, made);
                ids.set(made, id);
                kinds.set(id, kind);
            } else if (kind === '+' ? !mine : kinds.get(id) !== kind || (mine && 'fieSp'.includes(kind))) {
                throw new Broken(`${id} is no value`);
            }
            if (kind !== '+') contents.set(id, stringify(content));
        }
        for (const [id, content] of news) {
            fill(objects.get(id), content);
            if (!'Sp'.includes(content[0])) remember(id, contents.get(id));
        }
    }
    function value(node) {
        if (typeof node !== 'object' || node === null) return node;
        const [[kind, one] = []] = Object.entries(node);
        switch (kind) {
            case 'u': return undefined;
            case 'n': return Number(one);
            case 'b': return BigInt(one);
            case 'y': if (symbols.has(Symbol[one])) return Symbol[one]; break;
            case 'Y': return Symbol.for(one);
            case 'i': {
                const found = named.get(one);
                if (found && (side === 'p' || (typeof found === 'function' && (lent.has(one) || CLASS.test(one))))) {
                    lent.add(one);
                    return found;
                }
                break;
            }
            case 'r': if (objects.has(one)) return objects.get(one); break;
        }
        throw new Broken('what was sent is no value');
    }

    // ---- talking
    const replies = new Map();
    let serial = 0;
    let rested = false;  // what the other side did not ask for may have run meanwhile
    let making = false;  // the test makes an object: it stays one, whatever it is over
    const hooks = { idle: () => {}, drained: () => {}, left: () => {} };
    function request(op, values, given) {
        const number = ++serial;
        post({ q: number, op }, values, given ? { l: given } : {});
        while (!replies.has(number)) dispatch(receive());
        const reply = replies.get(number);
        replies.delete(number);
        if (waiting()) hooks.left();
        if (op === 'names') recent.clear();  // these lists nobody changes
        if ('x' in reply) throw reply.x;
        const by = [values.h, values.v].some((each) => made.has(ids.get(each)));
        if (op === 'construct' || (by && typeof reply.v !== 'function')) made.add(ids.get(reply.v));
        return reply.v;
    }
    // Of the test's objects the program reads and sets what they were described with; its functions are only called.
    const answers = (target, key) => {
        if (side === 'p') return true;
        if (typeof target === 'function' || told.has(ids.get(target)) || !shows(key)) return false;
        for (let at = target; at && !names.has(at); at = getPrototypeOf(at)) if (Object.hasOwn(at, key)) return true;
        return false;
    };
    function operate(op, target, key, given, list) {
        if (ids.get(target)?.[0] !== side) throw new Broken('nothing of this side is asked for');
        switch (op) {
            case 'get': return answers(target, key) ? target[key] : undefined;
            case 'set': return answers(target, key) && Reflect.set(target, key, given);
            case 'call': return apply(target, given, list);
            case 'construct': making = true; return construct(target, list);
        }
        throw new Broken(`nothing is called ${op}`);
    }
    function dispatch(message) {
        if (message === null) return ended();
        try {
            take(message.heap ?? {});
            if ('q' in message) answer(message);
            if ('a' in message) replies.set(message.a, 'x' in message ? { x: value(message.x) } : { v: value(message.v) });
            if ('s' in message) {
                const way = 'x' in message ? 'x' : 'v';
                settlers.get(message.s)?.[way](value(message[way]));
                settlers.delete(message.s);
            }
        } catch (error) {
            broken(error);
        }
        rested ||= 'idle' in message;
        for (const word of ['idle', 'drained']) if (message[word]) hooks[word](message[word]);
    }
    // Whether nothing of this side ran since it last said what its objects are, and nothing runs to read this of them.
    function reads(target, key) {
        for (; target && !rested && !types.isProxy(target); target = getPrototypeOf(target)) {
            const each = getOwnPropertyDescriptor(target, key);
            if (each) return 'value' in each;
        }
        return false;
    }
    function answer({ q: number, op, h, k, v, l = [] }) {
        let found;
        let error = null;
        const [target, key, given] = [h, k, v].map((each) => (each === undefined ? undefined : value(each)));
        const list = l.map(value);
        const quiet = side === 'p' && op === 'get' && reads(target, key);
        rested = false;
        try {
            found = Object.hasOwn(serving, op) ? serving[op](key, list) : operate(op, target, key, given, list);
        } catch (thrown) {
            if (thrown instanceof Broken || fatal(thrown)) throw thrown;
            error = { x: thrown };
        }
        post({ a: number }, error ?? { v: found }, {}, quiet);
        if (op === 'names') recent.clear();
        making = false;
    }

    function receive() {
        const text = line();
        try {
            return text === null ? null : parse(text);
        } catch (error) {
            return broken(error);
        }
    }
    return {
        request, dispatch, receive, waiting, hooks, listen: (came) => listen(came, ended),
        // Whether it is an object of the program's that says for itself what it has in it, and that the test did not make.
        decides: (value) => {
            const id = ids.get(value);
            return id !== undefined && id[0] !== side && !made.has(id)
                && (theirs(id) || (kinds.get(id) === 'o' && ownKeys(value).some((key) => typeof value[key] === 'function')));
        },
        announce: (word, number) => post({ [word]: number }, {}), sent: (value) => ids.has(value) && ids.get(value)[0] !== side,
    };
};
