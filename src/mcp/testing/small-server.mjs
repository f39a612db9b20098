// A tool server of a few lines over stdin and stdout, for tests: it does what it is told to, also what no good server does.
import { createInterface } from 'node:readline';

const object = (properties = {}) => ({ type: 'object', properties, required: Object.keys(properties) });
const city = { city: { type: 'string', description: 'the city' } };
const tools = [
  { name: 'get_weather', description: 'Get the current weather in a city', inputSchema: object(city), 'x-own': 1 },
  { name: 'get_time', description: 'Get the current time in a city', inputSchema: object(city) },
  ...['wait', 'die', 'grow', 'fail', 'env', 'progress'].map((name) => ({ name, inputSchema: object() })),
];
/** Messages that are sent together also arrive together. */
const send = (...messages) =>
  process.stdout.write(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''));
const text = (words) => ({ content: [{ type: 'text', text: words }] });
const wanted = process.argv[2]?.split(',');

if (process.argv[3] === 'stubborn') {
  process.on('SIGTERM', () => {});
  setInterval(() => {}, 1000);
}

const called = {
  get_weather: () => text('{"temperature": 21, "sky": "sunny"}'),
  // Two that never answer.
  get_time: () => undefined,
  wait: () => undefined,
  die: () => {
    process.stderr.write('I had enough\n');
    process.exit(3);
  },
  grow: () => {
    tools.push({ name: 'grown', inputSchema: object() });
    send({ method: 'notifications/tools/list_changed' });
    send({ method: 'notifications/message', params: { level: 'debug', data: 'not worth telling' } });
    send({ method: 'notifications/message', params: { level: 'warning', data: 'I have grown' } });
    return text('done');
  },
  grown: () => text('grown'),
  env: () => text(JSON.stringify(process.env)),
  progress: ({ _meta }, id) => {
    const params = (progress) => ({ progressToken: _meta?.progressToken, progress, total: 2 });
    const steps = [1, 2].map((step) => ({ method: 'notifications/progress', params: params(step) }));
    send(...steps, { id, result: text('done') });
    return undefined;
  },
};

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: { listChanged: true }, logging: {} },
    serverInfo: { name: 'small', version: '1' },
  }),
  ping: () => ({}),
  // One tool on each page.
  'tools/list': ({ cursor = '0' }) => {
    const shown = wanted ? tools.filter(({ name }) => wanted.includes(name)) : tools;
    const next = Number(cursor) + 1;
    return { tools: shown.slice(next - 1, next), ...(next < shown.length ? { nextCursor: String(next) } : {}) };
  },
  'tools/call': (params, id) => called[params.name]?.(params, id),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) return;
  if (params.name === 'fail') return send({ id, error: { code: -32042, message: 'not today', data: { why: 'rain' } } });
  const result = methods[method]?.(params, id);
  if (result) send({ id, result });
});
