// The cost of a request through an engine program beside a direct call of it, after npm run build: node bench/engine-hop.mjs
//   --tokens 1            the latency alone (64 tokens otherwise)
//   --paced               10 tokens a second, as a large model writes them
//   --llama FILE --model FILE   a real llama-server instead of the one that answers at once (src/engines/program/testing/fake-engine.mjs)
// Direct and hop alternate. Of the first token, the median of the differences of neighbours; of sixteen streams, the median of the ratios.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const option = (name, initial) => {
  const index = process.argv.indexOf(name);
  return index === -1 ? initial : process.argv[index + 1];
};
const llama = option('--llama');
const tokens = Number(option('--tokens', '64'));
const paced = process.argv.includes('--paced');
const [warmUp, rounds, streams] = paced
  ? [2, 5, 16]
  : [Number(option('--warm', '150')), Number(option('--rounds', '60')), 16];

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const fake = [process.execPath, file('../src/engines/program/testing/fake-engine.mjs'), '--port', '${port}'];
const scripted = [...fake, '--tokens', String(tokens), ...(paced ? ['--fault', 'slow'] : [])];
const real = [
  llama,
  '-m',
  option('--model', ''),
  '--host',
  '127.0.0.1',
  '--port',
  '${port}',
  '-np',
  '16',
  '-c',
  '8192',
  '-t',
  '1',
];
const command = llama ? real : scripted;

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

const [directPort, hopPort] = [await freePort(), await freePort()];
const [program, ...args] = command.map((arg) => arg.replace('${port}', String(directPort)));
const direct = spawn(program, args, { stdio: 'ignore' });
const engine = JSON.stringify({ name: 'fake', kind: 'text', command });
const flags = ['--skiplauncher', '--port', String(hopPort), '--multiuser', '64', '--quiet', '--engine', engine];
const server = spawn(process.execPath, [file('../dist/main.js'), ...flags], { stdio: 'ignore' });

const agent = new http.Agent({ keepAlive: true });
const body = JSON.stringify({
  ...{ model: 'fake', stream: true, max_tokens: tokens, temperature: 0, ignore_eos: true, ban_eos_token: true },
  messages: [{ role: 'user', content: 'Tell me a story about a boat.' }],
});
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };

/** Milliseconds until the first text of a streamed chat, and until its end. */
function ask(port) {
  const started = performance.now();
  const options = { host: '127.0.0.1', port, path: '/v1/chat/completions', method: 'POST', agent, headers };
  return new Promise((resolve, reject) => {
    const request = http.request(options, (response) => {
      let first;
      response.setEncoding('utf8').on('data', (text) => {
        if (/"content":"[^"]/.test(text)) first ??= performance.now() - started;
      });
      response.on('error', reject).on('end', () => {
        if (response.statusCode === 200 && first) resolve({ first, whole: performance.now() - started });
        else reject(new Error(`status ${response.statusCode}`));
      });
    });
    // A server may end a connection that was kept for the next request.
    const failed = (error) => (request.reusedSocket ? ask(port).then(resolve, reject) : reject(error));
    request.on('error', failed).end(body);
  });
}

async function together(port) {
  const started = performance.now();
  await Promise.all(Array.from({ length: streams }, () => ask(port)));
  return performance.now() - started;
}

const quantile = (values, share) => [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
const median = (values) => quantile(values, 0.5);

/** Processor time of a process in milliseconds, on Linux. */
function processorMs({ pid }) {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
    .slice(11);
  return (Number(user) + Number(system)) * 10;
}

try {
  const until = performance.now() + 60_000;
  for (const port of [directPort, hopPort]) {
    for (let left = warmUp; left > 0; left -= 1) {
      await ask(port).catch(async (error) => {
        if (performance.now() > until) throw error;
        left += 1;
        await new Promise((passed) => setTimeout(passed, 200));
      });
    }
    if (!paced) for (let left = warmUp / streams; left > 0; left -= 1) await together(port);
  }
  const first = { direct: [], hop: [] };
  const all = { direct: [], hop: [] };
  const processor = { engine: 0, server: 0 };
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, port] of [
      ['direct', directPort],
      ['hop', hopPort],
    ]) {
      for (let one = 0; one < (paced ? 1 : 5); one += 1) first[name].push((await ask(port)).first);
    }
  }
  for (let round = 0; round < rounds; round += 1) {
    const begun = [processorMs(direct), processorMs(server)];
    all.direct.push(await together(directPort));
    all.hop.push(await together(hopPort));
    processor.engine += processorMs(direct) - begun[0];
    processor.server += processorMs(server) - begun[1];
  }
  const differences = first.hop.map((value, index) => value - first.direct[index]);
  const ratios = all.hop.map((value, index) => value / all.direct[index]);
  const ms = (value) => `${value.toFixed(2)} ms`;
  console.log(
    `first token: direct ${ms(median(first.direct))}, hop ${ms(median(first.hop))}, added ${ms(median(differences))}`,
  );
  const least = [quantile(first.direct, 0.1), quantile(first.hop, 0.1)];
  console.log(
    `first token, lowest tenth: direct ${ms(least[0])}, hop ${ms(least[1])}, added ${ms(least[1] - least[0])}`,
  );
  console.log(
    `${streams} streams of ${tokens} tokens: direct ${ms(median(all.direct))}, hop ${ms(median(all.hop))}, ratio ${median(ratios).toFixed(3)}`,
  );
  const [engineMs, serverMs] = [processor.engine, processor.server].map((total) => total / rounds / streams);
  const share = (100 * serverMs) / engineMs;
  console.log(
    `processor time of a request: engine ${ms(engineMs)}, server ${ms(serverMs)}, ${share.toFixed(1)} % of the engine`,
  );
} finally {
  server.kill('SIGINT');
  direct.kill();
  agent.destroy();
}
