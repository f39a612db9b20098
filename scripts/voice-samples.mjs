import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

// Speaks the samples of docs/apis/audio.md into docs/samples. Needs a build and the pack voices:
// node scripts/voice-samples.mjs
const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const sentence = 'Good morning. The train leaves at 9:30 and costs $12.50.';
const samples = [
  { engine: 'flite', voice: 'slt' },
  { engine: 'kokoro', voice: 'af_heart' },
  { engine: 'kokoro', voice: 'am_michael' },
  { engine: 'kokoro', voice: 'bf_emma' },
  { engine: 'kokoro', voice: 'af_heart(2)+am_adam(1)', name: 'mixture' },
  { engine: 'kokoro', voice: 'ff_siwis', text: 'Bonjour. Le train part à neuf heures et demie.' },
];

mkdirSync(path('docs/samples'), { recursive: true });
for (const engine of ['flite', 'kokoro']) {
  const server = spawn(
    process.execPath,
    [path('dist/main.js'), '--nomodel', '--port', '0', '--quiet', '--ttsmodel', engine],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  try {
    const base = await listening(server);
    for (const { voice, name = voice, text = sentence } of samples.filter((one) => one.engine === engine)) {
      const body = JSON.stringify({ input: text, voice });
      const reply = await fetch(`${base}/v1/audio/speech`, { method: 'POST', body });
      if (!reply.ok) throw new Error(await reply.text());
      const file = `docs/samples/${name}.mp3`;
      writeFileSync(path(file), Buffer.from(await reply.arrayBuffer()));
      console.log(`Written: ${file}`);
    }
  } finally {
    server.kill();
  }
}

async function listening(server) {
  for await (const line of createInterface({ input: server.stdout })) {
    const base = /^Please connect to custom endpoint at (\S+)$/.exec(line)?.[1];
    if (base) {
      server.stdout.resume();
      return base;
    }
  }
  throw new Error('The server ended before it was ready. Is the pack voices installed?');
}
