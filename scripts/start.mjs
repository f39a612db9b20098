import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { newestChange, root } from './set-up.mjs';

// Installs and builds what is missing or out of date, then becomes the server: all flags are handed on to it.
const entry = fileURLToPath(new URL('dist/main.js', root));
if (!existsSync(entry) || newestChange('src') > newestChange('dist')) {
  console.log('Building Parley …');
  build();
}
const server = spawn(process.execPath, [entry, ...process.argv.slice(2)], { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => server.kill(signal));
server.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
