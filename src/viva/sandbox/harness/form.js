'use strict';
// Whether a test can run in another process than the program: it calls functions and compares values. Decided by the test's
// syntax tree (acorn), which the program has no part in.
const acorn = require('acorn');

const MODULES = /^(node:)?(assert(\/strict)?|util|events|timers(\/promises)?|buffer|perf_hooks|url|querystring)$/;
const OUTSIDE = new Set(['eval', 'Function', 'globalThis', 'global', 'window', 'self', 'module', 'exports', '__filename',
    '__dirname', 'arguments']);
const WRITERS = new Set(['defineProperty', 'defineProperties', 'assign', 'setPrototypeOf', 'freeze', 'seal',
    'preventExtensions', 'set', 'deleteProperty']);
const OPTIONS = { ecmaVersion: 'latest', sourceType: 'script', allowReturnOutsideFunction: true };
const ITERATING = new Set(['forEach', 'map', 'filter', 'every', 'some', 'find', 'findIndex', 'reduce', 'sort', 'flatMap', 'from',
    'catch']);
const CHAINING = new Set([...ITERATING, 'then', 'finally']);
const PROCESS = new Set(['exit', 'nextTick', 'hrtime']);
const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

class Shared extends Error {}

function children(node) {
    return Object.values(node).flat().filter((each) => each && typeof each.type === 'string');
}
// The identifiers that a pattern binds or writes to; what it reads on the way is an expression like any other.
function targets(pattern) {
    switch (pattern?.type) {
        case 'Identifier': return [pattern];
        case 'ObjectPattern': return pattern.properties.flatMap((each) => targets(each.value ?? each.argument));
        case 'ArrayPattern': return pattern.elements.flatMap(targets);
        case 'AssignmentPattern': return targets(pattern.left);
        case 'RestElement': return targets(pattern.argument);
        default: return [];
    }
}
const bound = (pattern) => targets(pattern).map(({ name }) => name);
function root(node) {
    while (['MemberExpression', 'ChainExpression', 'SequenceExpression'].includes(node?.type)) {
        node = node.object ?? node.expression ?? node.expressions.at(-1);
    }
    return node?.type === 'Identifier' ? node.name : null;
}

const any = (node, holds) => holds(node) || children(node).some((each) => any(each, holds));
function walk(node, enter, parent = null) {
    enter(node, parent);
    for (const child of children(node)) walk(child, enter, node);
}
// What a test calls the functions of node:assert.
function assertionsOf(tree) {
    const found = new Set();
    const required = (node) => node?.type === 'CallExpression' && node.callee.name === 'require'
        && /^(node:)?assert/.test(node.arguments[0]?.value);
    walk(tree, ({ type, id, init }) => {
        if (type !== 'VariableDeclarator') return;
        if (init?.callee?.name?.startsWith('__import')) [init] = init.arguments;  // as TypeScript has it
        if (required(init?.type === 'MemberExpression' ? init.object : init)) for (const name of bound(id)) found.add(name);
    });
    return found;
}
// The names that a test reads and neither declares nor sets, the members that it uses, and whether what it gives to promises and
// lists of its own throws. `own` are the names that it has without the program. Throws Shared, with why, for a test that must
// live with its program: it changes what the program sees, or looks at more than what the program returns.
exports.formOf = (text, own) => {
    const tree = acorn.parse(text, OPTIONS);
    const top = { parent: null, names: new Set(), free: true, self: false };
    const written = new Set();
    const settings = new Set();
    const members = new Set();
    const reads = [];
    let throws = false;
    const changes = [];
    const shared = (why) => {
        throw new Shared(why);
    };
    const declared = (name, scope) => scope !== null && (scope.names.has(name) || declared(name, scope.parent));
    const ours = (name, scope) => own.has(name) && !declared(name, scope);
    function writes(target, scope, whole = true, given = null) {
        for (const name of bound(target)) changes.push([name, scope]);
        const calls = !given || any(given, ({ type }) => /^(Call|New|Yield|Await|TaggedTemplate)Expression$/.test(type));
        if (!calls && target.type === 'Identifier') settings.add(target.name);
        if (whole) for (const each of targets(target)) each.target = true;
        if (target.type !== 'MemberExpression') return;
        if (ours(root(target.object), scope)) shared(`it changes ${root(target.object)}`);
        if (/\bprototype\b/.test(text.slice(target.start, target.end))) shared('it changes a prototype');
    }
    function called(node, scope) {
        const { callee, arguments: [first] } = node;
        if (callee.type === 'Identifier' && callee.name === 'require' && !MODULES.test(first?.value)) shared('it requires a module');
        if (WRITERS.has(callee.property?.name) && ours(root(first), scope)) shared(`it changes ${root(first)}`);
        if (FUNCTIONS.has(callee.type)) callee.called = true;
        if (CHAINING.has(callee.property?.name)) for (const each of node.arguments) each.called = true;
    }
    function enter(node, scope) {
        if (node.type === 'FunctionDeclaration') scope.names.add(node.id.name);
        const arrow = node.type === 'ArrowFunctionExpression';
        const names = new Set([...node.params.flatMap(bound), ...(node.id ? [node.id.name] : []), ...(arrow ? [] : ['arguments'])]);
        return { parent: scope, names, free: scope.free && node.called === true, self: scope.self || !arrow };
    }
    function visit(node, parent, scope) {
        switch (node.type) {
            case 'VariableDeclaration':
                for (const { id } of node.declarations) {
                    if (node.kind === 'var' && scope === top) for (const name of bound(id)) written.add(name);
                    for (const name of bound(id)) scope.names.add(name);
                    for (const each of targets(id)) each.target = true;
                }
                break;
            case 'CatchClause': for (const name of bound(node.param)) scope.names.add(name); break;
            case 'AssignmentExpression': writes(node.left, scope, node.operator === '=', node.right); break;
            case 'UpdateExpression': writes(node.argument, scope, false); break;
            case 'ForInStatement': case 'ForOfStatement':
                if (node.left.type !== 'VariableDeclaration') writes(node.left, scope);
                break;
            case 'UnaryExpression': if (node.operator === 'delete') writes(node.argument, scope); break;
            case 'ThisExpression': if (!scope.self) shared('it uses this'); break;
            // A function that the program calls would tell it by an error whether what it gave is right.
            case 'ThrowStatement':
                if (!scope.free) shared('a function of its own throws');
                throws ||= scope !== top;
                break;
            case 'WithStatement': case 'ImportExpression': case 'MetaProperty': shared('it reaches out of its scope'); break;
            case 'CallExpression': case 'NewExpression': called(node, scope); break;
            case 'MemberExpression':
                if (!node.computed || node.property.type === 'Literal') members.add(String(node.property.name ?? node.property.value));
                if (node.object.name === 'process' && PROCESS.has(node.property.name)) node.object.allowed = true;
                break;
            case 'Identifier': if (isReference(node, parent)) reads.push([node, scope]); break;
        }
        if (node.type.startsWith('Class')) {
            if (node.id) scope.names.add(node.id.name);
            if (node.superClass && root(node.superClass) === null) shared('it extends a class');
            if (node.superClass) changes.push([root(node.superClass), scope, 'it extends a class']);
        }
        const inner = FUNCTIONS.has(node.type) ? enter(node, scope) : scope;
        const inOrder = children(node);  // of evaluation: what is written is written last
        if (['AssignmentExpression', 'VariableDeclarator'].includes(node.type)) inOrder.reverse();
        for (const child of inOrder) visit(child, node, inner);
    }
    visit(tree, null, top);
    const free = new Set();
    const first = new Map();
    const read = new Set();
    for (const [node, scope] of reads) {
        const { name } = node;
        if (!first.has(name)) first.set(name, node.target === true);
        if (!node.target) read.add(name);
        if (declared(name, scope)) continue;
        if (OUTSIDE.has(node.name) || (node.name === 'process' && !node.allowed)) shared(`it uses ${node.name}`);
        if (!own.has(node.name)) free.add(node.name);
    }
    for (const [name, scope, why] of changes) {
        if (declared(name, scope)) continue;
        if (own.has(name) ? !why : why) shared(why ?? `it changes ${name}`);
        if (!why) written.add(name);
    }
    for (const name of written) {
        if (first.get(name) === false) shared(`it reads ${name} before it writes to it`);
        if (settings.has(name) && !read.has(name)) shared(`it sets ${name} for the program`);
    }
    return { free: [...free].filter((name) => !written.has(name)), members, throws };
};
function isReference(node, parent) {
    if (parent === null) return true;
    if (parent.type === 'MemberExpression') return parent.object === node || parent.computed;
    if (parent.type === 'Property') return parent.value === node || parent.computed;
    if (['MethodDefinition', 'PropertyDefinition'].includes(parent.type)) return parent.value === node || parent.computed;
    return !['LabeledStatement', 'BreakStatement', 'ContinueStatement'].includes(parent.type);
}
exports.Shared = Shared;

// What tells a program's object what it should come to: methods that compare or that are given functions, whatever it is
// asked for the truth with arguments, and functions of the program's whose word is all that a test asserts, as
// `expect(answer(2)).toBe(4)` or `assert(isClose(answer(2), 4))` where the test has no such name.
const COMPARING = new Set([...ITERATING, 'includes', 'indexOf', 'lastIndexOf', 'startsWith', 'endsWith', 'has', 'equals', 'isEqual',
    'test', 'match', 'localeCompare', 'equal', 'eq', 'compare', 'compareTo', 'search', 'contains', 'count', 'index', 'matches',
    'equalTo', 'equal_to', 'is_equal'].filter((name) => name !== 'catch'));
const CHECKING = /assert|check|equal|expect|match|same|should|test|verify/i;
const CALLS = new Set(['CallExpression', 'NewExpression', 'TaggedTemplateExpression']);
exports.judged = (text, free, word, copying, lent) => {
    const tree = acorn.parse(text, OPTIONS);
    const asserting = assertionsOf(tree).add('assert');
    const names = new Set(free);
    const receivers = new Set();
    const values = new Map();  // what the test's names are made of
    const given = new Set();  // names that the program was given, and may have changed
    let decides = false;
    const calls = (node) => CALLS.has(node.type) && names.has(root(node.callee ?? node.tag));
    const asked = (node, above = []) => FUNCTIONS.has(node.type) ? [] : [...(calls(node) ? [root(node.callee ?? node.tag)] : []),
        ...(above && values.has(node.name) && !above.includes(node.name) ? asked(values.get(node.name), [...above, node.name]) : []),
        ...children(node).flatMap((each) => asked(each, above))];
    const asks = (...given) => asked(...given).length > 0;
    const several = (sides) => new Set(sides.map((each) => `${[...new Set(asked(each).filter((name) => !/^[A-Z]/.test(name)))].sort()}`)
        .filter(Boolean)).size > 1;  // an instance's data are compared, whoever made it
    walk(tree, ({ type, id, init, expression }) => {
        if (type === 'VariableDeclarator' && id.type === 'Identifier' && init) values.set(id.name, init);
        if (type !== 'ExpressionStatement' || !calls(expression)) return;
        for (const { name } of expression.arguments ?? []) if (name) given.add(name);
    });
    // What a condition or a statement comes to, as far as code of the program's says it.
    function condition(node, holds, above = []) {
        switch (node?.type) {
            case 'UnaryExpression': case 'AwaitExpression': return condition(node.argument, holds, above);
            case 'ChainExpression': return condition(node.expression, holds, above);
            case 'LogicalExpression': return [node.left, node.right].forEach((each) => condition(each, holds, above));
            case 'BinaryExpression':
                for (const [one, other] of [[node.left, node.right], [node.right, node.left]]) {
                    if (typeof other.value === 'boolean') condition(one, holds, above);
                }
                return undefined;
            case 'Identifier':
                if (!above.includes(node.name)) condition(values.get(node.name), holds, [...above, node.name]);
                return undefined;
        }
        let outer = null;
        for (let at = node; CALLS.has(at?.type); at = (at.callee ?? at.tag).object) {
            const { callee = at.tag, arguments: args = at.quasi.expressions } = at;
            if (CHAINING.has(callee.property?.name)) return undefined;
            if (holds && at === node && callee.object && args.length && !asserting.has(root(callee))) {
                receivers.add(callee.object);
                decides ||= lent.has(callee.property?.name);
            }
            if (names.has(root(callee))) outer = args;
        }
        if (outer === null) return undefined;
        // A statement may only change what it is given: by a name for it, only what is called an assertion tells.
        const { callee } = node;
        const telling = holds || CHECKING.test(callee && text.slice(callee.start, callee.end));
        decides ||= outer.some((each) => asks(each, telling ? [] : null) || (holds && given.has(each.name)));
        return undefined;
    }
    walk(tree, (node) => {
        if (node.type === 'ExpressionStatement') condition(node.expression, false);
        if (['IfStatement', 'ConditionalExpression'].includes(node.type)) condition(node.test, true);
        if (/^[!=]==?$/.test(node.operator)) decides ||= several([node.left, node.right]);
        if (node.type !== 'CallExpression') return;
        const { callee, arguments: [first, second] } = node;
        const holding = !callee.property || callee.property.name === 'ok' || typeof second?.value === 'boolean';
        if (asserting.has(root(callee)) && holding) condition(first, true);
        if (asserting.has(root(callee)) && /equal/i.test(text.slice(callee.start, callee.end))) decides ||= several([first, second]);
        const method = first && (callee.property?.name ?? callee.property?.value);
        if (COMPARING.has(method)) receivers.add(callee.object);
    });
    const places = [...receivers].filter(({ type }) => type !== 'Super');
    const marks = [[word, places], [copying, copies(tree, values, names, asks, asserting)]];
    const around = marks.flatMap(([by, nodes]) => nodes.flatMap(({ start, end }) => [[start, `${by}(`], [end, ')']]));
    return { text: inserted(text, around), decides };
};
const PLAIN = new Set(['length', 'size', 'reduce', 'join', 'toString', 'indexOf', 'includes', 'every', 'some', 'toFixed']);
// The names in what the program is given that mean values which stay the test's: the program gets copies. What is expected of
// a call may be computed from what it was given, as in `assert.equal(total(prices), sum(prices))`. A test that looks at `prices`
// apart from what the program returns, or makes a call only for what it does to them, is about what becomes of them.
function copies(tree, values, names, asks, asserting) {
    const [program, given, expected, looked] = [new Set(), [], new Set(), new Set()];
    walk(tree, ({ type, left, right, operator, callee, arguments: args }) => {
        const name = type === 'ForOfStatement' ? left.declarations?.[0].id.name : operator === '=' ? left.name : undefined;
        if (name) values.set(name, right);
        const settled = callee?.property?.name === 'then' && args[0]?.params?.[0]?.name;
        if (settled) values.set(settled, callee.object);
    });
    const reading = (node, enter) => walk(node, (each, parent) => {
        if (each.type === 'Identifier' && isReference(each, parent) && !parent?.shorthand) enter(each);
    });
    walk(tree, (node) => {
        const name = CALLS.has(node.type) && root(node.callee ?? node.tag);
        if (!names.has(name) && !(name && asks({ type: 'Identifier', name }))) return;
        program.add(node);
        for (const each of node.arguments ?? []) {
            if (!any(each, ({ type }) => FUNCTIONS.has(type))) reading(each, (one) => names.has(one.name) || asks(one) || given.push(one));
        }
    });
    function sources(node, into, above = []) {
        if (node.type === 'Identifier') into.add(node.name);
        const inner = values.get(node.name);
        if (inner && !above.includes(inner)) sources(inner, into, [...above, inner]);
        for (const child of program.has(node) ? [node.callee ?? node.tag] : children(node)) sources(child, into, above);
    }
    // What is compared by identity, and may be a part of what was given, is looked at.
    const plain = (node) => ['BinaryExpression', 'TemplateLiteral'].includes(node.type) || /^(Math|JSON|String|Number)$/.test(root(node.callee))
        || PLAIN.has((node.callee ?? node).property?.name);
    const statement = (node, sides, deep) => {
        if (!asks(node)) return sources(node, looked);
        for (const side of sides) {
            const bare = given.some(({ name }) => name === side.name);
            if (!asks(side) && (bare || !(deep || plain(values.get(side.name) ?? side)))) sources(side, looked);
        }
        return sources(node, expected);
    };
    walk(tree, (node) => {
        const { type, expression, test, left, right, operator, callee, arguments: args } = node;
        if (type === 'ExpressionStatement') {
            const alone = expression.type === 'AwaitExpression' ? expression.argument : expression;
            if (program.has(alone)) for (const each of alone.arguments ?? []) sources(each, looked);
        }
        if (type === 'IfStatement') statement(test, []);
        if (/^[!=]==?$/.test(operator)) statement(node, [left, right], false);
        if (type === 'CallExpression' && asserting.has(root(callee))) {
            statement({ type: 'Arguments', args }, args.slice(0, 2), /deep|ok/i.test(callee.property?.name ?? 'ok'));
        }
    });
    return given.filter(({ name }) => expected.has(name) && !looked.has(name));
}
function inserted(text, marks) {
    marks.sort(([one], [other]) => other - one);
    return marks.reduce((found, [at, mark]) => found.slice(0, at) + mark + found.slice(at), text);
}

// A test with the functions marked that it hands to a call and that assert something: `word(line, function)`. Not those that
// may rightly stay uncalled: for each of a list, for an error, and those that only say that they must not be called.
exports.marked = (text, word) => {
    const tree = acorn.parse(text, OPTIONS);
    const asserting = assertionsOf(tree);
    const marks = [];
    const asserts = (node) => any(node, ({ type, callee }) => type === 'CallExpression' && asserting.has(root(callee))
        && !['fail', 'ifError'].includes(callee.property?.name));
    walk(tree, (node) => {
        if (!['CallExpression', 'NewExpression'].includes(node.type) || asserting.has(root(node.callee))) return;
        if (ITERATING.has(node.callee.property?.name) || node.arguments[0]?.value === 'error') return;
        const line = text.slice(0, node.start).split('\n').length;
        for (const each of node.arguments) {
            if (FUNCTIONS.has(each.type) && asserts(each.body)) {
                marks.push([each.start, `${word}('${line}.${node.start}',`], [each.end, ')']);
            }
        }
    });
    return inserted(text, marks);
};
