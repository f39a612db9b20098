// A small engine program for tests and measurements: an OpenAI server that answers at once, or has one fault.
// node fake-engine.mjs --port PORT [--fault NAME] [--tokens COUNT]; the key of LLAMA_API_KEY is required if it is set.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';

const option = (name) => process.argv[process.argv.indexOf(name) + 1];
const has = (name) => process.argv.includes(name);
const fault = has('--fault') ? option('--fault') : '';
const tokens = has('--tokens') ? Number(option('--tokens')) : 4;
const port = Number(option('--port')) + (fault === 'wrong-port' ? 1 : 0);
const key = process.env.LLAMA_API_KEY;

console.log(`fake engine, fault: ${fault || 'none'}`);
if (has('--say')) console.log(option('--say'));
if (fault === 'dies-loading') {
  console.error('error: the model file is damaged');
  process.exit(1);
}
if (fault === 'wrong-processor') process.kill(process.pid, 'SIGILL');
if (fault === 'ignores-stop') process.on('SIGTERM', () => console.log('SIGTERM is ignored'));
if (fault === 'has-children') spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
if (fault === 'prints') setInterval(() => process.stdout.write('a line that nobody needs\n'.repeat(100)), 5);
const hoard = [];

const json = (response, body, status = 200) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};

async function answer(request, response) {
  const { pathname } = new URL(request.url ?? '/', 'http://x');
  if (fault === 'never-ready') return json(response, { error: { message: 'Loading model' } }, 503);
  if (key && request.headers.authorization !== `Bearer ${key}`) return json(response, { error: 'no key' }, 401);
  if (pathname === '/health') return json(response, { status: 'ok' });
  if (pathname === '/v1/models') return json(response, { data: [{ id: 'fake.gguf', owned_by: 'llamacpp' }] });
  if (pathname === '/props') return json(response, { default_generation_settings: { n_ctx: 2048 } });
  if (request.method !== 'POST') return json(response, { error: 'not found' }, 404);
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const body = JSON.parse(Buffer.concat(pieces).toString() || '{}');
  // Until the limit of its memory, such as that of --max-old-space-size, ends it.
  if (fault === 'takes-memory') for (;;) hoard.push(Array.from({ length: 1000 }, (_, index) => [index]));
  if (fault === 'rubbish') return response.end('<html>this is no answer</html>');
  if (pathname === '/v1/embeddings')
    return json(response, {
      data: [body.input].flat().map((_, index) => ({ index, embedding: [1, 0] })),
      usage: { prompt_tokens: 1 },
    });
  if (!pathname.endsWith('/completions')) return json(response, { error: 'not found' }, 404);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const event = (data) => response.write(`data: ${JSON.stringify(data)}\n\n`);
  const delta = (text) => (pathname.includes('chat') ? { delta: { content: text } } : { text });
  for (let index = 0; index < tokens; index += 1) {
    event({
      choices: [{ index: 0, ...delta(has('--echo') ? JSON.stringify(body) : `word${index} `), finish_reason: null }],
    });
    if (fault === 'dies-streaming' && index === 1) {
      await new Promise((sent) => setTimeout(sent, 50));
      process.kill(process.pid, 'SIGKILL');
    }
    if (fault === 'slow') await new Promise((passed) => setTimeout(passed, 100));
  }
  event({
    choices: [{ index: 0, ...delta(''), finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: tokens },
  });
  response.end('data: [DONE]\n\n');
}

createServer((request, response) => void answer(request, response).catch(() => response.destroy())).listen(
  port,
  '127.0.0.1',
);
