'use strict';
// TypeScript's compiler, loaded with what V8 made of it once for all programs (prepared.py), which saves half of the time. What
// V8 does not take, of another version or with other flags, it makes again.
const fs = require('fs');
const vm = require('vm');
const Module = require('module');

const preparing = require.main === module;
const path = require.resolve(preparing ? process.argv[2] : 'typescript');
const cachedData = preparing ? undefined : fs.readFileSync(`${__dirname}/typescript.cache`);
const script = new vm.Script(Module.wrap(fs.readFileSync(path, 'utf8')), { filename: path, cachedData });
const compiler = new Module(path);
script.runInThisContext()(compiler.exports, Module.createRequire(path), compiler, path);
exports.transpiled = (text, options) => {
    const compilerOptions = { target: 'ES2022', module: 'CommonJS', esModuleInterop: true, ...options };
    return compiler.exports.transpileModule(text, { compilerOptions }).outputText;
};
if (preparing) {
    exports.transpiled(fs.readFileSync('main.ts', 'utf8'));  // so that it has the functions which every program needs
    fs.writeFileSync('typescript.cache', script.createCachedData());
}
