import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { whenAncestorsGo } from './ancestors.mjs';
import { build } from './build.mjs';
import { newestChange, root } from './set-up.mjs';

// Installs and builds what is missing or out of date, then becomes the server, with the flags of this command line.
const parentExit = whenAncestorsGo(process.env.npm_execpath !== undefined);
const entry = new URL('dist/main.js', root);
if (!existsSync(entry) || Math.max(newestChange('src'), newestChange('web')) > newestChange('dist')) await build();
parentExit.then(() => process.kill(process.pid, 'SIGTERM'));
process.argv[1] = fileURLToPath(entry);
await import(entry);
