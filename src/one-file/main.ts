import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { getAsset, getRawAsset } from 'node:sea';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import zlib from 'node:zlib';
import { attempt } from '../core/attempt.ts';
import { ownFolder } from '../core/data-folder.ts';
import { isAlive } from '../core/processes.ts';
import { type Contents, endRun, programFolder, settleFiles, UnpackError, unpackProgram } from './unpack.ts';

// Start of the one-file program. Node runs this script whatever the command line says, so it also starts the engine
// processes: their first argument is a module of the unpacked program.

const folder = join(ownFolder('cache'), 'program');

void start();

async function start(): Promise<void> {
  const contents = JSON.parse(getAsset('contents', 'utf8')) as Contents;
  const [, , module = ''] = process.argv;
  const unpacked = attempt(() => realpathSync(programFolder(folder, contents)), undefined);
  if (unpacked !== undefined && module.startsWith(unpacked + sep) && module.endsWith('.js')) {
    process.argv.splice(1, 1);
    return run(unpacked, module);
  }
  const program = await unpackProgram(contents, archive, {
    folder,
    pid: process.pid,
    isAlive,
    progress: progressBar(),
  }).catch(refuse);
  // Files that cannot be opened for writing stay unsettled.
  void settleFiles(program, contents).catch(() => undefined);
  process.once('exit', () => endRun(program, process.pid));
  process.env.PARLEY_SINGLE_FILE = '1';
  process.argv[1] = join(realpathSync(program), 'dist', 'main.js');
  return run(program, process.argv[1]);
}

function refuse(error: Error): never {
  console.error(`Parley could not unpack itself into ${folder}: ${error.message}.`);
  if (!(error instanceof UnpackError))
    console.error('Free about 400 MB there, or set PARLEY_HOME to a folder that can be written.');
  process.exit(1);
}

/** A script inside of the executable cannot import modules itself. */
function run(program: string, module: string): Promise<void> {
  const load = createRequire(join(program, 'package.json'))('./import.cjs') as (address: string) => Promise<void>;
  return load(pathToFileURL(module).href);
}

function archive(): AsyncIterable<Uint8Array> {
  const bytes = new Uint8Array(getRawAsset('archive') as ArrayBuffer);
  const pieces = Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += 1 << 20) yield bytes.subarray(at, at + (1 << 20));
    })(),
  );
  const { createZstdDecompress } = zlib as unknown as { readonly createZstdDecompress: typeof zlib.createGunzip };
  return pieces.pipe(createZstdDecompress());
}

/** Standard output belongs to the program. */
function progressBar(): (share: number) => void {
  const { stderr } = process;
  let lastPercent = -1;
  return (share) => {
    const percent = Math.floor(share * 100);
    if (percent === lastPercent) return;
    if (stderr.isTTY)
      stderr.write(`\rUnpacking Parley, once for this version … ${percent} %${percent === 100 ? '\n' : ''}`);
    else if (lastPercent === -1) stderr.write('Unpacking Parley, once for this version …\n');
    lastPercent = percent;
  };
}
