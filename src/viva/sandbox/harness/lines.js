'use strict';
// What the processes of JavaScript share: a program as node's main module, and lines through a pipe, read while everything
// waits for them or, between, as the event loop comes to them.
const fs = require('fs');
const net = require('net');
const Module = require('module');
const { readSync, writeSync } = fs;
const { from, alloc, concat } = Buffer;

exports.parameters = ['exports', 'require', 'module', '__filename', '__dirname'];
// The module and, by these parameters, what its text is given.
exports.mainModule = () => {
    const main = new Module('/box/main.js', null);
    main.filename = '/box/main.js';
    main.paths = Module._nodeModulePaths('/box');
    const require_ = Module.createRequire('/box/main.js');
    require_.main = main;
    return [main, [main.exports, require_, main, '/box/main.js', '/box']];
};
exports.lines = (reading, writing) => {
    let buffered = alloc(0);
    let scanned = 0;
    function waiting() {
        const end = buffered.indexOf(10, scanned);
        scanned = end < 0 ? buffered.length : end;
        return end >= 0;
    }
    const chunk = alloc(65536);
    function line() {
        while (!waiting()) {
            const got = readSync(reading, chunk, 0, chunk.length, null);
            if (got <= 0) return null;
            buffered = concat([buffered, chunk.subarray(0, got)]);
        }
        const text = buffered.toString('utf8', 0, scanned);
        buffered = buffered.subarray(scanned + 1);
        scanned = 0;
        return text;
    }
    let socket = null;
    function listen(came, ended) {
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
    function send(text) {
        const bytes = from(text + '\n');
        for (let at = 0; at < bytes.length;) at += writeSync(writing, bytes, at);
    }
    return { waiting, line, listen, send };
};
