// The cost of a request through an engine program beside a direct call of it: node bench/engine-hop.mjs (after npm run build; --tokens 1 for the
// latency alone, --paced for 10 tokens per second).
// The program answers at once (src/engines/program/testing/fake-engine.mjs), direct and hop alternate, and medians are compared.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const fake = fileURLToPath(new URL('../src/engines/program/testing/fake-engine.mjs', import.meta.url));
const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const [directPort, port] = [28_611, 28_612];
const tokens = process.argv[process.argv.indexOf('--tokens') + 1 || 99] ?? '64';
const [rounds, streams] = [41, 16];
const slow = process.argv.includes('--paced') ? ['--fault', 'slow'] : [];

const direct = spawn(process.execPath, [fake, '--port', String(directPort), '--tokens', tokens, ...slow], {
  stdio: 'ignore',
});
const command = [process.execPath, fake, '--port', '${port}', '--tokens', tokens, ...slow];
const engine = JSON.stringify({ name: 'fake', kind: 'text', command });
const flags = ['--skiplauncher', '--port', String(port), '--multiuser', '64', '--quiet', '--engine', engine];
const server = spawn(process.execPath, [main, ...flags], { stdio: 'ignore' });

/** Milliseconds until the first bytes of a streamed chat, and until its end. */
async function ask(at) {
  const started = performance.now();
  const body = JSON.stringify({
    model: 'fake',
    stream: true,
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Hi' }],
  });
  const headers = { 'content-type': 'application/json' };
  const reply = await fetch(`http://127.0.0.1:${at}/v1/chat/completions`, { method: 'POST', headers, body });
  let first;
  for await (const _ of reply.body) first ??= performance.now() - started;
  return { first, whole: performance.now() - started };
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

async function together(at) {
  const started = performance.now();
  await Promise.all(Array.from({ length: streams }, () => ask(at)));
  return performance.now() - started;
}

try {
  for (const at of [directPort, port]) {
    for (;;) {
      try {
        for (let warm = 0; warm < (slow.length > 0 ? 1 : 10); warm += 1) await ask(at);
        break;
      } catch {
        await new Promise((passed) => setTimeout(passed, 200));
      }
    }
  }
  const figures = { first: [[], []], whole: [[], []], together: [[], []] };
  for (let round = 0; round < (slow.length > 0 ? 3 : rounds); round += 1) {
    for (const [index, at] of [directPort, port].entries()) {
      const { first, whole } = await ask(at);
      figures.first[index].push(first);
      figures.whole[index].push(whole);
      figures.together[index].push(await together(at));
    }
  }
  for (const [name, [plain, hop]] of Object.entries(figures)) {
    const [before, after] = [median(plain), median(hop)];
    console.log(
      `${name}: direct ${before.toFixed(2)} ms, engine program ${after.toFixed(2)} ms, +${(after - before).toFixed(2)} ms`,
    );
  }
} finally {
  server.kill();
  direct.kill();
}
