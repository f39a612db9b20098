// A tool server over stdin and stdout that fails in the way that the name of a tool says.
import { createInterface } from 'node:readline';

const tools = ['good', 'get_weather', 'hang', 'die', 'garbage', 'half', 'flood', 'errors'].map((name) => ({
  name,
  description: name === 'get_weather' ? 'Get the current weather in a city' : name,
  inputSchema: {
    type: 'object',
    properties: name === 'get_weather' ? { city: { type: 'string', description: 'the city' } } : {},
    required: name === 'get_weather' ? ['city'] : [],
  },
}));
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

/** Writes as fast as it is read, for ever. */
function flood(stream, piece) {
  if (stream.write(piece)) setImmediate(() => flood(stream, piece));
  else stream.once('drain', () => flood(stream, piece));
}

const failures = {
  hang: () => {},
  die: () => process.exit(3),
  get_weather: () => process.exit(4),
  garbage: () => process.stdout.write('{"jsonrpc":"2.0","id":\n\0\0\0\nnot json\n[]\n'),
  half: () => process.stdout.write('{"jsonrpc":"2.0","id":1,"resu', () => process.exit(5)),
  flood: () => flood(process.stdout, 'x'.repeat(65_536)),
  errors: (id) => {
    flood(process.stderr, `${'e'.repeat(1000)}\n`);
    send({ id, result: { content: [{ type: 'text', text: 'fine' }] } });
  },
};

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'faulty', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'fine' }] }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) return;
  const fail = method === 'tools/call' ? failures[params.name] : undefined;
  if (fail) fail(id);
  else send({ id, result: methods[method]?.(params) ?? {} });
});
