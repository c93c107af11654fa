'use strict';
// As published: main.ts to main.js with the compiler's defaults, type errors ignored.
const fs = require('fs');
const typescript = require('typescript');
const compilerOptions = { target: 'ES5', module: 'CommonJS' };
const { outputText } = typescript.transpileModule(fs.readFileSync('main.ts', 'utf8'), { compilerOptions });
fs.writeFileSync('main.js', outputText);
