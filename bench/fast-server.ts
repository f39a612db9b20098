import { fileURLToPath } from 'node:url';
import { createApp } from '../src/app.ts';
import { chooseAdapter, loadAdapter } from '../src/chat/adapters/load.ts';
import { spawnChild } from '../src/engines/host/child.ts';
import { LlamaHost } from '../src/engines/llama/host.ts';
import { loadOptions } from '../src/engines/llama/placement.ts';
import { RequestLog } from '../src/observe/request-log.ts';
import { Terminal } from '../src/observe/terminal.ts';
import { settingsOf } from './options.ts';

/** The server with a worker that has no model: everything that a token passes in this process is the real thing. */
const { settings } = settingsOf(['--port', '0', '--quiet']);
const shape = { architecture: 'none', layers: 1, sizeBytes: 1, cacheBytesPerToken: 1 };
const options = loadOptions(settings, { model: 'none', name: 'none', shape, threads: 1, contextSizeGiven: false });
const engine = new LlamaHost(options, {
  spawn: spawnChild,
  workerEntry: fileURLToPath(new URL('fast-worker.js', import.meta.url)),
  delay: (milliseconds, action) => setTimeout(action, milliseconds),
});
const terminal = new Terminal({ interactive: false, columns: 80, write: () => true });
const app = createApp({
  settings,
  engine,
  adapter: chooseAdapter(await loadAdapter(settings.chatcompletionsadapter, async () => undefined), undefined),
  product: { name: 'Parley', version: '0' },
  observer: new RequestLog({ terminal, quiet: true, contextSize: () => engine.contextSize(), now: () => new Date() }),
  onError: (error) => console.error(error),
  shutdown: () => process.exit(0),
});
const { port } = await app.server.listen();
engine.start();
await engine.settled();
process.on('disconnect', () => process.exit(0));
process.send?.({ port });
