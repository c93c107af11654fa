'use strict';
// Runs program and test in one scope, as one file would, and proves that the test ran to its end (see proof.py).
// The program finds neither the key nor the functions of this file: they live in closures that it has no name for.
(() => {
    const fs = require('fs');
    const vm = require('vm');
    const crypto = require('crypto');
    const Module = require('module');
    const { readSync, writeSync } = fs;
    const { reallyExit } = process;
    const { assign, defineProperty, getOwnPropertyDescriptor, freeze, keys } = Object;
    const { ownKeys, apply, construct } = Reflect;
    const end = (status) => apply(reallyExit, process, [status]);
    const is = Object.is;
    const { captureStackTrace } = Error;
    const { isDeepStrictEqual } = require('util');
    const clone = structuredClone;
    const { promiseHooks } = require('v8');
    const { mainModule, parameters } = require('./lines.js');
    const { formOf, judged, marked, Shared } = require('./form.js');

    function fill(size) {
        const buffer = Buffer.alloc(size);
        for (let got = 0; got < size;) {
            const more = readSync(3, buffer, got, size - got, null);
            if (more <= 0) end(1);
            got += more;
        }
        return buffer;
    }
    // The key is kept as numbers: it never lies in memory as the text that Viva sent.
    const PIECES = 16;
    const pieces = [];
    for (let at = 0; at < PIECES; at++) pieces.push(parseInt(fill(4).toString('latin1'), 16));
    let header = '';
    for (let byte = fill(1)[0]; byte !== 10; byte = fill(1)[0]) header += String.fromCharCode(byte);
    const [programLength, testLength] = header.trim().split(' ').map(Number);
    let program = fill(programLength).toString();
    let test = fill(testLength).toString();
    let alone = test;  // as it is without the program, whose names could take the place of what it imports

    const complain = (error) => {
        try {
            writeSync(2, String((error && error.stack) || error).slice(0, 4000) + '\n');
        } catch {}
        end(1);
    };
    process.setUncaughtExceptionCaptureCallback(complain);
    const refused = () => {
        throw new Error('a program under test may not decide what its errors mean');
    };
    for (const name of ['setUncaughtExceptionCaptureCallback', 'addUncaughtExceptionCaptureCallback']) {
        Object.defineProperty(process, name, { value: refused, writable: false, configurable: false });
    }

    if (process.argv.includes('typescript')) {
        const typescript = require('./typescript.js');
        const mark = 'viva ' + crypto.randomBytes(16).toString('hex');
        const transpiled = (first, noEmitHelpers) => {
            const parts = typescript.transpiled(`${first}\n;"${mark}";\n${test}\n`, { noEmitHelpers }).split(`"${mark}";`);
            if (parts.length !== 2) complain('the program does not parse on its own');
            return parts;
        };
        alone = transpiled('', true)[1];
        [program, test] = transpiled(program, false);
    }

    // A module of its own for every name that tests compare with: loaded first, and frozen.
    const modules = new Map();
    for (const name of ['assert', 'assert/strict', 'util', 'buffer', 'events', 'timers']) {
        const loaded = require(name);
        modules.set(name, loaded);
        modules.set('node:' + name, loaded);
    }
    const seen = new Set();
    const freezeDeep = (value) => {
        if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return;
        seen.add(value);
        for (const name of ownKeys(value)) {
            const descriptor = getOwnPropertyDescriptor(value, name);
            if (descriptor.value !== undefined && name !== 'constructor') freezeDeep(descriptor.value);
        }
        freeze(value);
    };
    freezeDeep(require('assert'));
    freezeDeep(require('assert').AssertionError.prototype);
    for (const name of ['isDeepStrictEqual', 'inspect']) {
        defineProperty(require('util'), name, { writable: false, configurable: false });
    }
    const hidden = [require('inspector'), require('v8')];
    for (const name of ['Session', 'open']) hidden[0][name] = undefined;
    for (const name of ['getHeapSnapshot', 'writeHeapSnapshot', 'setFlagsFromString']) hidden[1][name] = undefined;

    // What a test compares with. A program may add to these (polyfills), but what was there is put back before the test.
    const NAMES = ['Object', 'Array', 'String', 'Number', 'Boolean', 'Symbol', 'BigInt', 'Math', 'JSON', 'Date', 'RegExp',
        'Map', 'Set', 'WeakMap', 'WeakSet', 'Promise', 'Reflect', 'Error', 'TypeError', 'RangeError', 'isNaN', 'isFinite',
        'parseInt', 'parseFloat', 'process', 'Buffer', 'setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask',
        'structuredClone',
        // What a test makes values with that it expects: it would tell the program.
        'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array', 'Float32Array',
        'Float64Array', 'BigInt64Array', 'BigUint64Array', 'ArrayBuffer', 'DataView', 'SyntaxError', 'ReferenceError', 'EvalError',
        'URIError', 'AggregateError', 'Intl', 'URL', 'URLSearchParams', 'encodeURIComponent', 'decodeURIComponent'];
    const MAY_CHANGE = new Set(['Math.random', 'Date.now', 'Error.stackTraceLimit', 'Error.prepareStackTrace']);
    const kept = [];
    const keep = (label, object, names = ownKeys(object)) => {
        for (const name of names) {
            const before = getOwnPropertyDescriptor(object, name);
            if (before && !MAY_CHANGE.has(label + '.' + String(name))) kept.push({ label, object, name, before });
        }
    };
    for (const name of NAMES.slice(0, 24)) {
        keep(name, globalThis[name]);
        if (typeof globalThis[name] === 'function' && globalThis[name].prototype) {
            keep(name + '.prototype', globalThis[name].prototype);
        }
    }
    keep('process', process, ['exit', 'reallyExit', 'abort', 'kill', 'exitCode', 'emit']);
    const arrayIterator = Object.getPrototypeOf([][Symbol.iterator]());
    keep('the array iterator', arrayIterator);
    const changed = (one) => {
        const before = one.before;
        const now = getOwnPropertyDescriptor(one.object, one.name);
        return !now || !is(now.value, before.value) || now.get !== before.get || now.set !== before.set;
    };
    const putBack = () => {
        for (let at = 0; at < kept.length; at++) {
            const one = kept[at];
            if (changed(one)) {
                try {
                    defineProperty(one.object, one.name, one.before);
                } catch {
                    complain(`the program locked ${one.label}.${String(one.name)}`);
                }
            }
        }
    };
    const scope = { __proto__: null };
    for (const name of NAMES) scope[name] = globalThis[name];

    // What TypeScript writes at the head of the program for the imports of a test.
    const IMPORTING = {
        __importDefault: (found) => (found && found.__esModule ? found : { default: found }),
        __importStar: (found) => (found && found.__esModule ? found : { ...found, default: found }),
    };
    // Whether code of the program's decided a comparison.
    let asked = false;
    const { connect, named } = require('./peer.js');
    // A method that the program gave to all lists, texts and the like, and that the test uses by this name.
    const LENT = /^((Array|String|Number|Boolean|Date|Map|Set|Promise)(\.prototype)?|Math|Function\.prototype)$/;
    function lend(owner, key, kind, given, members) {
        const place = LENT.test(owner) ? named.get(owner) : undefined;
        if (place === undefined || !members.has(key) || key === 'then' || key in place || typeof given !== 'function') return;
        asked ||= /equal|compare|same|match|includes|^is|^has/i.test(key);
        defineProperty(place, key, { [kind === 'get' ? 'get' : 'value']: given, configurable: true });
    }
    // The program's names for a test that runs in a process of its own (peer.js, form.js); null for one that must share it.
    function linked() {
        const { AssertionError } = require('assert');
        let form;
        const joined = test;
        test = alone;
        try {
            form = formOf(test, new Set([...NAMES, ...keys(IMPORTING), 'console', 'require', 'undefined', 'NaN', 'Infinity']));
        } catch (error) {
            if (!(error instanceof Shared || error instanceof SyntaxError)) throw error;
            writeSync(4, 'shared\n');
            test = joined;
            return null;
        }
        const [reading, writing] = process.argv.slice(-2).map(Number);
        const ended = () => complain('the program ended before its test did');
        // An assertion that fails where the program could see it would tell it what is right.
        const fatal = (error) => (error instanceof AssertionError || (form.throws && !peer.sent(error))) && complain(error);
        const withheld = (value) => value === globalThis || value === process || value === scope.require || value instanceof Module;
        const peer = connect({ side: 't', reading, writing, ended, fatal, withheld, members: [...form.members], broken: complain });
        let socket = null;
        let due = false;
        let idle = 0;
        const take = () => {
            while (peer.waiting()) peer.dispatch(peer.receive());
        };
        // Only what the program says of the latest number counts: before it, it may not have known what it was sent since.
        peer.hooks.asked = () => {
            if (due) return;
            due = true;
            setImmediate(() => {
                due = false;
                peer.announce('idle', ++idle);
                socket ??= peer.listen(take);
                socket.ref();
                take();
            });
        };
        peer.hooks.drained = (number) => number === idle && !due && socket?.unref();
        const [known, added] = peer.request('names', {}, form.free);
        for (const [owner, key, kind, given] of added) lend(owner, key, kind, given, form.members);
        const names = { __proto__: null };
        for (const name of form.free.filter((each) => known.includes(each))) {
            let kept;
            const get = () => {
                if (kept) return kept;
                if (name === 'assert') return require('assert');  // whoever imported it
                if (Object.hasOwn(require('assert'), name)) return require('assert')[name];
                const value = peer.request('name', { k: name });
                if (typeof value === 'function') kept = value;
                return value;
            };
            defineProperty(names, name, { get, enumerable: true });
        }
        peer.hooks.scope = names;
        const lent = new Set(added.map(([, key]) => key));
        const found = judged(test, [...form.free].filter((each) => known.includes(each)), '$asked', '$copied', lent);
        asked ||= found.decides;
        test = found.text;
        scope.$asked = (value) => {
            asked ||= peer.decides(value);
            return value;
        };
        scope.$copied = (value) => {
            try {
                const copy = clone(value);
                return isDeepStrictEqual(copy, value) ? copy : value;
            } catch {
                return value;
            }
        };
        return names;
    }

    const link = process.argv.includes('linked') ? linked() : null;
    if (link) program = '';

    const [main, given] = mainModule();
    const [, require_] = given;
    if (link) assign(scope, IMPORTING, { $viva: link });
    scope.require = (name) => modules.get(name) ?? require_(name);
    Object.assign(scope.require, require_);

    try {
        vm.compileFunction(program, parameters, { filename: 'main.js' });
        vm.compileFunction(test, parameters, { filename: 'test.js' });
        // A yield outside of any generator would mean something below. Strict mode knows it from a name.
        if (program.includes('yield')) {
            vm.compileFunction('"use strict";' + program, parameters, { filename: 'main.js' });
        }
        test = marked(test, '$handed');
    } catch (error) {
        complain(error);
    }
    // A generator, so that the text which the program can get at names nothing of ours: it stops behind the program, receives
    // the names of the test, and is done only behind the test.
    // A function of the test's with an assertion in it that the program was given and never called proves nothing.
    const handed = new Set();
    const called = new Set();
    scope.$handed = (where, callback) => {
        if (!called.has(where)) handed.add(where);
        const note = (work) => (_, ...given) => {
            handed.delete(where);
            called.add(where);
            return work(callback, ...given);
        };
        return new Proxy(callback, { apply: note(apply), construct: note(construct) });
    };

    const opening = `(function*(${parameters}){${program}\n;{const {${Object.keys(scope)}}=yield;${link ? 'with($viva)' : ''}{\n`;
    const text = `${opening}${test}\n}}})`;
    const make = new vm.Script(text, { filename: 'main.js' }).runInThisContext();
    const testBegins = opening.length;
    const waiting = new Map();

    // Where the test's own words made a promise: the first place on the stack that is not the engine's own, with the
    // functions of the engine between. Promise.race and the like make promises of their own for what they are given.
    const MAKERS = new Set(['all', 'allSettled', 'any', 'race']);
    const CHAINS = new Set(['then', 'catch', 'finally']);
    const places = (_, frames) => {
        const engine = [];
        for (let at = 1; at < frames.length; at++) {
            if (frames[at].getPosition() !== 0) return { engine, position: ownPosition(frames[at]) };
            engine.push(frames[at].isConstructor() ? 'new' : frames[at].getFunctionName());
        }
        return { engine, position: -1 };
    };
    const ownPosition = (frame) => (frame.getFileName() === 'main.js' ? frame.getPosition() : -1);
    const bare = (position) => /^new\s+Promise\s*\(\s*\(\s*\)/.test(text.slice(position, position + 200));
    // A test waits for its async functions, for what it says `then` to, and for a promise of its own that nobody took up.
    // `new Promise(() => {})` is made in order to stay pending.
    function init(promise, parent) {
        if (parent && waiting.get(parent)?.made) waiting.delete(parent);
        const { prepareStackTrace, stackTraceLimit } = Error;
        Error.prepareStackTrace = places;
        Error.stackTraceLimit = 5;
        const holder = {};
        captureStackTrace(holder);
        const { engine, position } = holder.stack;
        Error.prepareStackTrace = prepareStackTrace;
        Error.stackTraceLimit = stackTraceLimit;
        if (position < testBegins) return;
        const made = engine[0] === 'new';
        const waits = parent
            ? engine.length > 0 && engine.every((name) => CHAINS.has(name))
            : engine.length === 0 || MAKERS.has(engine[0]) || (made && !bare(position));
        if (waits) waiting.set(promise, { made, position });
    }
    const { next } = Object.getPrototypeOf(make).prototype;
    const run = apply(make, main.exports, given);
    const resume = (value) => apply(next, run, [value]);

    const one_ = Buffer.alloc(1);
    let completed = false;
    let drained = 0;
    const once = process.on;
    const later = setImmediate;
    apply(once, process, ['beforeExit', () => {
        // Only an empty event loop counts, not a program that announces one: it must run empty twice.
        if (!completed || drained > 1) return;
        drained += 1;
        if (drained === 1) return void later(() => {});
        if (process.exitCode) end(process.exitCode);  // before the program's listeners of the end take it back
        for (const { position } of waiting.values()) {
            const before = text.slice(testBegins, position).split('\n');
            complain(`the test was still waiting when nothing was left to wait for: line ${before.length} of the test`);
        }
        for (const where of handed) {
            complain(`what the test gave away to be called was never called: line ${where.split('.')[0]} of the test`);
        }
        for (let at = 0; at < PIECES; at++) {
            for (let nibble = 3; nibble >= 0; nibble--) {
                const digit = (pieces[at] >> (4 * nibble)) & 15;
                one_[0] = digit < 10 ? 48 + digit : 87 + digit;
                writeSync(4, one_, 0, 1);
            }
        }
        writeSync(4, asked ? ' asked\n' : '\n');
        writeSync(4, fill(65), 0, 65);
    }]);

    const early = 'the program returned before the test';
    try {
        if (resume().done) complain(early);
        putBack();
        promiseHooks.createHook({ init, settled: (promise) => waiting.delete(promise) });
        if (!resume(scope).done) complain(early);
    } catch (error) {
        complain(error);
    }
    for (let at = 0; at < kept.length; at++) {
        if (changed(kept[at])) complain(`the program replaced ${kept[at].label}.${String(kept[at].name)}`);
    }
    completed = true;
})();
