import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Loaded into the real server before its own first line: whatever engine process it starts is the one without a model.
 * Everything that a token passes in the server is then measured as it is.
 */
const fastWorker = fileURLToPath(new URL('fast-worker.js', import.meta.url));
const fork = childProcess.fork as (entry: string, ...rest: unknown[]) => childProcess.ChildProcess;
childProcess.fork = ((_: string, ...rest: unknown[]) => fork(fastWorker, ...rest)) as typeof childProcess.fork;
syncBuiltinESMExports();
