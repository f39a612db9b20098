// Loaded into the real server before its first line (`node --import`): the process of its text engine is the fake one.
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { fileURLToPath } from 'node:url';

const fakeEngine = fileURLToPath(new URL('fake-engine.mjs', import.meta.url));
const { fork } = childProcess;
childProcess.fork = (entry, ...rest) => fork(/[\\/]llama[\\/]worker[\\/]/.test(entry) ? fakeEngine : entry, ...rest);
syncBuiltinESMExports();
