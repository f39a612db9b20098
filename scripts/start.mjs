import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { whenAncestorsGo } from './ancestors.mjs';
import { build } from './build.mjs';
import { newestChange, root } from './set-up.mjs';

// Installs and builds what is missing or out of date, then becomes the server: all flags are handed on to it.
const started = whenAncestorsGo(process.env.npm_execpath !== undefined);
const entry = fileURLToPath(new URL('dist/main.js', root));
if (!existsSync(entry) || Math.max(newestChange('src'), newestChange('web')) > newestChange('dist')) {
  await build();
}
const server = spawn(process.execPath, [entry, ...process.argv.slice(2)], {
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  env: { ...process.env, PARLEY_LAUNCHER: '1' },
});

// The server is asked by a message and not by a signal: of one Ctrl+C in a terminal it hears by itself, we do, and npm tells
// us once more. What comes later than that is somebody's second wish.
const echoMs = 1000;
let askedAt;
function stop() {
  askedAt ??= performance.now();
  tell(performance.now() - askedAt > echoMs ? 'stop-now' : 'stop');
}
function tell(message) {
  if (server.connected) server.send(message, () => {});
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);
started.then(stop);
server.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
