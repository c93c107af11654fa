'use strict';
// Runs program and test in one scope, as one file would, and proves that the test ran to its end (see proof.py).
// The program finds neither the key nor the functions of this file: they live in closures that it has no name for, and
// what it could read its own source text with is taken away.
(() => {
    const fs = require('fs');
    const vm = require('vm');
    const crypto = require('crypto');
    const Module = require('module');
    const { readSync, writeSync } = fs;
    const { reallyExit } = process;
    const end = (status) => reallyExit.call(process, status);
    const { defineProperty, getOwnPropertyDescriptor, getOwnPropertyDescriptors, freeze } = Object;
    const { ownKeys, apply } = Reflect;
    const is = Object.is;

    function fill(size) {
        const buffer = Buffer.alloc(size);
        for (let got = 0; got < size;) {
            const more = readSync(3, buffer, got, size - got, null);
            if (more <= 0) end(1);
            got += more;
        }
        return buffer;
    }
    const KEY_LENGTH = 64;
    const key = Buffer.concat([fill(KEY_LENGTH), Buffer.from('\n')]);
    let header = '';
    for (let byte = fill(1)[0]; byte !== 10; byte = fill(1)[0]) header += String.fromCharCode(byte);
    const [programLength, testLength] = header.trim().split(' ').map(Number);
    let program = fill(programLength).toString();
    let test = fill(testLength).toString();

    const complain = (error) => {
        try {
            writeSync(2, String((error && error.stack) || error).slice(0, 4000) + '\n');
        } catch {}
        end(1);
    };
    process.setUncaughtExceptionCaptureCallback(complain);

    if (process.argv[2] === 'typescript') {
        const typescript = require('typescript');
        const mark = 'viva ' + crypto.randomBytes(16).toString('hex');
        const { outputText } = typescript.transpileModule(`${program}\n;"${mark}";\n${test}\n`, {
            compilerOptions: { target: 'ES2022', module: 'CommonJS', esModuleInterop: true },
        });
        const parts = outputText.split(`"${mark}";`);
        if (parts.length !== 2) complain('the program does not parse on its own');
        [program, test] = parts;
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
        'structuredClone'];
    const MAY_CHANGE = new Set(['Math.random', 'Date.now', 'Error.stackTraceLimit', 'Error.prepareStackTrace']);
    const kept = [];
    const keep = (label, object) => {
        const descriptors = getOwnPropertyDescriptors(object);
        for (const name of ownKeys(descriptors)) {
            if (!MAY_CHANGE.has(label + '.' + String(name))) kept.push([label, object, name, descriptors[name]]);
        }
    };
    for (const name of NAMES.slice(0, 24)) {
        keep(name, globalThis[name]);
        if (typeof globalThis[name] === 'function' && globalThis[name].prototype) {
            keep(name + '.prototype', globalThis[name].prototype);
        }
    }
    const arrayIterator = Object.getPrototypeOf([][Symbol.iterator]());
    keep('the array iterator', arrayIterator);
    const changed = ([, object, name, before]) => {
        const now = getOwnPropertyDescriptor(object, name);
        return !now || !is(now.value, before.value) || now.get !== before.get || now.set !== before.set;
    };
    const putBack = () => {
        for (let at = 0; at < kept.length; at++) {
            const [label, object, name, before] = kept[at];
            if (changed(kept[at])) {
                try {
                    defineProperty(object, name, before);
                } catch {
                    complain(`the program locked ${label}.${String(name)}`);
                }
            }
        }
    };
    const scope = { __proto__: null };
    for (const name of NAMES) scope[name] = globalThis[name];

    const main = new Module('/box/main.js', null);
    main.filename = '/box/main.js';
    main.paths = Module._nodeModulePaths('/box');
    const require_ = Module.createRequire('/box/main.js');
    require_.main = main;
    scope.require = (name) => modules.get(name) ?? require_(name);
    Object.assign(scope.require, require_);

    const parameters = ['exports', 'require', 'module', '__filename', '__dirname'];
    try {
        vm.compileFunction(program, parameters, { filename: 'main.js' });
        vm.compileFunction(test, parameters, { filename: 'test.js' });
    } catch (error) {
        complain(error);
    }
    const one = '$' + crypto.randomBytes(16).toString('hex');
    const token = Symbol(one);
    const text = `(function(${one}){return function(exports,require,module,__filename,__dirname){${program}\n;` +
        `${one}.between();{const {${Object.keys(scope)}}=${one}.scope;{\n${test}\n}}return ${one}.token}})`;
    const make = new vm.Script(text, { filename: 'main.js' }).runInThisContext();
    const run = make(freeze({ between: putBack, scope, token }));

    const sourceOf = Function.prototype.toString;
    defineProperty(Function.prototype, 'toString', {
        value: function toString() {
            return this === run || this === make ? 'function () { [native code] }' : apply(sourceOf, this, []);
        },
        writable: false,
        configurable: false,
    });

    let completed = false;
    let drained = 0;
    const once = process.on;
    const later = setImmediate;
    once.call(process, 'beforeExit', () => {
        // Only an empty event loop counts, not a program that announces one: it must run empty twice.
        if (!completed || drained > 1) return;
        drained += 1;
        if (drained === 1) {
            later(() => {});
            return;
        }
        const secret = Buffer.alloc(KEY_LENGTH + 1);
        writeSync(4, key, 0, KEY_LENGTH + 1);
        for (let got = 0; got < secret.length;) {
            const more = readSync(3, secret, got, secret.length - got, null);
            if (more <= 0) end(1);
            got += more;
        }
        writeSync(4, secret, 0, secret.length);
    });

    let result;
    try {
        result = apply(run, main.exports, [main.exports, require_, main, '/box/main.js', '/box']);
    } catch (error) {
        complain(error);
    }
    if (result !== token) complain('the program returned before the test');
    for (let at = 0; at < kept.length; at++) {
        if (changed(kept[at])) complain(`the program replaced ${kept[at][0]}.${String(kept[at][2])}`);
    }
    completed = true;
})();
