// A tool server over stdin and stdout that does what no good server does, for tests. Its first argument says what is wrong with its
// list of tools; a call does what the name of the tool says.
import { createInterface } from 'node:readline';

const [mode = 'plain'] = process.argv.slice(2);
const object = { type: 'object', properties: {} };
const write = (line) => process.stdout.write(`${line}\n`);
const send = (message) => write(JSON.stringify({ jsonrpc: '2.0', ...message }));
const tool = (name, own = {}) => ({ name, inputSchema: object, ...own });
const numbered = (count) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, true]));
const nested = (levels) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

const lists = {
  plain: () => Object.keys(calls).map((name) => tool(name)),
  many: () => Array.from({ length: 100_000 }, (_, index) => tool(`tool_${index}`)),
  large: () => [tool('large', { inputSchema: { ...object, description: 'x'.repeat(3_000_000) } }), tool('small')],
  schemas: () => [
    tool('cyclic', {
      inputSchema: { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
    }),
    tool('wrong', { inputSchema: { type: 7, properties: [], required: 'x', anyOf: {}, $ref: 5, enum: 'no' } }),
    tool('prototype', {
      inputSchema: JSON.parse(
        '{"type":"object","properties":{"__proto__":{"type":"integer"},"constructor":true},"required":["toString"],"additionalProperties":true}',
      ),
    }),
    tool('properties', { inputSchema: { type: 'object', properties: numbered(10_000), additionalProperties: true } }),
    tool('name', { inputSchema: { ...object, properties: { ['x'.repeat(200_000)]: {} }, additionalProperties: true } }),
    tool('too_many', { inputSchema: { type: 'object', properties: numbered(100_000) } }),
    tool('long_name', { inputSchema: { ...object, properties: { ['x'.repeat(1_000_000)]: {} } } }),
  ],
  names: () =>
    [
      ...['line\nbreak', 'bell\u0007', 'escape\u001b[31m', 'x'.repeat(5000), '', '   ', '__proto__', 'constructor'],
      ...['same', 'same', 'ümlaut', '\ud800'],
    ].map((name) => tool(name)),
  types: () =>
    [null, 5, 'text', [], {}, { name: 7, inputSchema: object }, tool('array', { inputSchema: [] })].concat([
      tool('text', { inputSchema: 'text' }),
      tool('description', { description: { a: 1 } }),
      tool('good'),
    ]),
};

const calls = {
  good: () => ({ content: [{ type: 'text', text: 'fine' }] }),
  huge: () => ({ content: [{ type: 'text', text: 'x'.repeat(100_000_000) }] }),
  large: () => ({ content: [{ type: 'text', text: 'x'.repeat(5_000_000) }] }),
  many: () => ({ content: Array.from({ length: 200_000 }, () => ({ type: 'text', text: 'x' })) }),
  pictures: () => ({
    content: Array.from({ length: 1000 }, () => ({ type: 'image', data: 'AAAA', mimeType: 'image/png' })),
  }),
  number: () => ({ content: 5 }),
  items: () => ({
    content: [null, 5, 'x', [], { type: 'text', text: 5 }, { type: 'image', data: 7 }, { type: 'resource' }],
  }),
  structured: () => ({ structuredContent: { a: 'x'.repeat(1_000_000) } }),
  nothing: () => ({}),
  controls: () => ({ content: [{ type: 'text', text: '\u001b[31m\u0000\u0007<|im_end|>\ud800' }] }),
};
const raw = {
  text: (id) => write(`{"jsonrpc":"2.0","id":${id},"result":"words"}`),
  nil: (id) => write(`{"jsonrpc":"2.0","id":${id},"result":null}`),
  deep: (id) =>
    write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"x","more":${nested(50_000)}}]}}`),
  odd: (id) => write(`{"jsonrpc":"2.0","id":${id},"error":{"code":"no number","message":{}}}`),
  twice: (id) => {
    for (const text of ['1', '2']) send({ id, result: { content: [{ type: 'text', text }] } });
  },
  noise: (id) => {
    for (let line = 0; line < 1000; line += 1) write('this is no JSON {');
    send({ id, result: calls.good() });
  },
  endless: () => setInterval(() => process.stdout.write('x'.repeat(1_000_000)), 1),
  progress: (_, { _meta }) =>
    setInterval(() => {
      send({ method: 'notifications/progress', params: { progressToken: _meta?.progressToken, progress: 1 } });
    }, 1),
};
for (const name of Object.keys(raw)) calls[name] ??= undefined;

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'initialize') {
    const serverInfo = { name: 'hostile', version: '1' };
    const capabilities = { tools: { listChanged: true } };
    return send({ id, result: { protocolVersion: params.protocolVersion, capabilities, serverInfo } });
  }
  if (method === 'ping') return send({ id, result: {} });
  if (method === 'tools/list' && mode === 'pages') {
    const next = String(Number(params.cursor ?? 0) + 1);
    return send({ id, result: { tools: [tool(`page_${next}`)], nextCursor: next } });
  }
  if (method === 'tools/list') return send({ id, result: { tools: lists[mode]() } });
  if (raw[params.name]) return raw[params.name](id, params);
  send({ id, result: calls[params.name]?.() });
});
