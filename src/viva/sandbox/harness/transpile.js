'use strict';
// As published: main.ts to main.js with the compiler's defaults, type errors ignored.
const fs = require('fs');
const text = fs.readFileSync('main.ts', 'utf8');
fs.writeFileSync('main.js', require('./typescript.js').transpiled(text, { target: 'ES5', esModuleInterop: undefined }));
