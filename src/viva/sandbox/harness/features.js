'use strict';
// What a JavaScript program uses, by its syntax tree (acorn), as features.py says it of Python: a language's patterns as the first
// line, then a program in every line, as JSON. The program is parsed, never run. TypeScript is made JavaScript first.
//   call a.b             the same called, also by new
//   override a.b         a thing that Node.js brings under this name, assigned, deleted or defined anew
//   declare a            a name of the language's or of Node.js's that the program declares for itself
//   return               a return at the program's top
const readline = require('readline');
const acorn = require('acorn');

const OPTIONS = { ecmaVersion: 'latest', allowReturnOutsideFunction: true, allowAwaitOutsideFunction: true, allowHashBang: true, locations: true };
const DEFINING = new Set(['Object.defineProperty', 'Object.defineProperties', 'Object.assign', 'Reflect.set', 'Reflect.defineProperty',
    'Reflect.deleteProperty', 'Object.setPrototypeOf', 'Reflect.setPrototypeOf']);
const GLOBAL = new Set(['globalThis', 'global', 'window', 'self']);
const FUNCTIONS = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;
const brought = new Set([...Object.getOwnPropertyNames(globalThis), 'require', 'module', 'exports']);

const children = (node) => Object.values(node).flat().filter((each) => each && typeof each.type === 'string');
function names(pattern) {
    switch (pattern?.type) {
        case 'Identifier': return [pattern.name];
        case 'ObjectPattern': return pattern.properties.flatMap((each) => names(each.value ?? each.argument));
        case 'ArrayPattern': return pattern.elements.flatMap(names);
        case 'AssignmentPattern': return names(pattern.left);
        case 'RestElement': return names(pattern.argument);
        default: return [];
    }
}
const literal = (node) => (node?.type === 'Literal' && typeof node.value === 'string' ? node.value
    : node?.type === 'TemplateLiteral' && node.expressions.length === 0 ? node.quasis[0].value.cooked : undefined);
const keyOf = (node) => {
    const key = node.property ?? node.key;
    return node.computed ? literal(key) ?? (key.type === 'MemberExpression' ? `@${keyOf(key)}` : '?') : String(key.name ?? key.value);
};
const bare = (name) => name.replace(/^node:/, '');

function featuresOf(program) {
    let tree;
    try {
        tree = acorn.parse(program, { ...OPTIONS, sourceType: 'script' });
    } catch {
        tree = acorn.parse(program, { ...OPTIONS, sourceType: 'module' });
    }
    const places = new Set();  // identifiers that name a place in something else, and no variable
    const nodes = [];  // no recursion: the tree of a hostile program is as deep as it likes
    for (const stack = [[tree, false]]; stack.length > 0;) {
        const [node, inside] = stack.pop();
        nodes.push([node, inside]);
        for (const part of ['property', 'key', 'label', 'imported', 'exported']) {
            if (node[part]?.type === 'Identifier' && !node.computed && !node.shorthand) places.add(node[part]);
        }
        const within = inside || FUNCTIONS.test(node.type);
        for (const child of children(node)) stack.push([child, within]);
    }
    const own = new Set();
    const imported = new Map();
    const moduleOf = (node) => {
        while (node?.type === 'AwaitExpression') node = node.argument;
        if (node?.type === 'ImportExpression') return literal(node.source);
        return node?.type === 'CallExpression' && node.callee.name === 'require' ? literal(node.arguments[0]) : undefined;
    };
    for (const [node] of nodes) {
        if (node.type === 'VariableDeclarator') {
            const from = moduleOf(node.init?.type === 'MemberExpression' ? node.init.object : node.init);
            if (from === undefined) names(node.id).forEach((name) => own.add(name));
            else if (node.id.type !== 'ObjectPattern') {
                names(node.id).forEach((name) => imported.set(name, bare(from) + (node.init.property ? `.${keyOf(node.init)}` : '')));
            } else {
                for (const each of node.id.properties) {
                    for (const name of names(each.value)) imported.set(name, `${bare(from)}.${each.key ? keyOf(each) : '?'}`);
                }
            }
        } else if (node.type === 'ImportDeclaration') {
            for (const { local, imported: of } of node.specifiers) {
                imported.set(local.name, bare(node.source.value) + (of ? `.${of.name ?? of.value}` : ''));
            }
        } else {
            if (FUNCTIONS.test(node.type)) node.params.flatMap(names).forEach((name) => own.add(name));
            if (node.id?.type === 'Identifier') own.add(node.id.name);
            if (node.type === 'CatchClause') names(node.param).forEach((name) => own.add(name));
        }
    }
    // `process.exit` for what the program calls by whatever name; '' for things of its own.
    const dotted = (node) => {
        const parts = [];
        while (parts.length < 20 && (node?.type === 'MemberExpression' || node?.type === 'ChainExpression')) {
            if (node.type === 'MemberExpression') parts.push(keyOf(node));
            node = node.object ?? node.expression;
        }
        let root = moduleOf(node);
        root = root === undefined ? undefined : bare(root);
        if (node?.type === 'Identifier') root = imported.get(node.name) ?? (own.has(node.name) ? undefined : node.name);
        if (root === undefined) return '';
        const path = [root, ...parts.reverse()];
        while (path.length > 1 && GLOBAL.has(path[0])) path.shift();
        return path.join('.');
    };
    const found = new Map();
    const add = (node, feature) => found.set(feature, Math.min(node.loc.start.line, found.get(feature) ?? Infinity));
    const exists = (path) => {
        let thing = globalThis;
        for (const part of path.split('.')) {
            const at = part.startsWith('@') ? Symbol[part.slice(1)] : part;
            if (thing === null || !['object', 'function'].includes(typeof thing) || !(at in thing)) return false;
            thing = thing === globalThis ? thing[at] : Object.getOwnPropertyDescriptor(thing, at)?.value;
        }
        return true;
    };
    const writes = (node, path, key) => {
        if (key !== undefined) add(node, `write .${key}`);
        if (!path) return;
        const whole = key === undefined ? path : `${path}.${key}`;
        add(node, `write ${whole}`);
        if (exists(whole)) add(node, `override ${whole}`);
    };
    const target = (node) => {
        if (node.type === 'MemberExpression') writes(node, dotted(node.object), keyOf(node));
        else if (node.type === 'Identifier' && !own.has(node.name)) writes(node, node.name);
        else for (const name of names(node)) if (!own.has(name)) writes(node, name);
    };
    const keys = (node) => (node?.type === 'ObjectExpression' ? node.properties.filter(({ key }) => key).map(keyOf) : ['?']);
    const calls = (node) => {
        const path = dotted(node.callee);
        const module = moduleOf(node);
        if (module !== undefined) add(node, `import ${bare(module)}`);
        if (path) add(node, `call ${path}`);
        if (!DEFINING.has(path)) return;
        const [object, key] = node.arguments;
        const single = /defineProperty|set$|deleteProperty/.test(path) && !/Prototype/.test(path);
        for (const each of single ? [literal(key) ?? '?'] : /Prototype/.test(path) ? ['__proto__'] : keys(key)) writes(node, object && dotted(object), each);
    };
    for (const [node, inside] of nodes) {
        switch (node.type) {
            case 'ImportDeclaration': add(node, `import ${bare(node.source.value)}`); break;
            case 'ImportExpression': add(node, `import ${bare(moduleOf(node) ?? '?')}`); break;
            case 'MemberExpression': {
                add(node, `use .${keyOf(node)}`);
                const path = dotted(node);
                if (path) add(node, `use ${path}`);
                break;
            }
            case 'Identifier':
                if (places.has(node)) break;
                if (imported.has(node.name) || !own.has(node.name)) add(node, `use ${imported.get(node.name) ?? node.name}`);
                break;
            case 'AssignmentExpression': target(node.left); break;
            case 'UpdateExpression': target(node.argument); break;
            case 'UnaryExpression': if (node.operator === 'delete') target(node.argument); break;
            case 'CallExpression': case 'NewExpression': calls(node); break;
            case 'Property': case 'MethodDefinition': case 'PropertyDefinition':
                add(node, `define .${keyOf(node)}`);
                break;
            case 'ReturnStatement': if (!inside) add(node, 'return'); break;
            case 'Literal': case 'TemplateElement': {
                const text = node.value?.cooked ?? node.value;
                if (typeof text === 'string') add(node, `text ${text}`);
                break;
            }
            case 'VariableDeclarator': for (const name of inside ? [] : names(node.id)) if (brought.has(name) && moduleOf(node.init) === undefined) add(node, `declare ${name}`); break;
            case 'FunctionDeclaration': case 'ClassDeclaration': if (!inside && brought.has(node.id.name)) add(node, `declare ${node.id.name}`); break;
        }
    }
    return found;
}

let patterns = null;
readline.createInterface({ input: process.stdin }).on('line', (line) => {
    if (patterns === null) {
        patterns = JSON.parse(line).map((one) => [one, new RegExp(`^${one.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^]*')}$`)]);
        return;
    }
    let found = null;
    try {
        let program = JSON.parse(line);
        if (process.argv[2] === 'typescript') {
            const compilerOptions = { target: 'ES2022', module: 'ESNext' };
            program = require('typescript').transpileModule(program, { compilerOptions }).outputText;
        }
        const every = [...featuresOf(program)];
        found = {};
        for (const [one, pattern] of patterns) {
            const lines = every.filter(([feature]) => pattern.test(feature)).map(([, at]) => at);
            if (lines.length > 0) found[one] = process.argv[2] === 'typescript' ? 0 : Math.min(...lines);
        }
    } catch {}
    process.stdout.write(JSON.stringify(found) + '\n');
});
