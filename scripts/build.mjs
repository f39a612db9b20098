import { spawnSync } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, root } from './set-up.mjs';

/** The modules one by one, as they come from the compiler. */
export const compiled = new URL('.cache/compiled/', root);

/** Compiles src/, joins what comes of it in dist/, puts the pages of web/ beside it, and converts weights into weights/. */
export async function build() {
  ensureInstalled();
  const dist = new URL('dist/', root);
  for (const folder of [compiled, dist]) rmSync(folder, { recursive: true, force: true });
  const compiler = fileURLToPath(new URL('node_modules/@typescript/native/bin/tsc', root));
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
  const { makeWeights } = await import(new URL('conversion/weights.js', compiled));
  await makeWeights(fileURLToPath(new URL('weights', root)));
  // It may have been installed only now.
  const { bundle } = await import('./bundle.mjs');
  await bundle(fileURLToPath(compiled), fileURLToPath(dist));
  const { buildWeb } = await import('./web.mjs');
  await buildWeb();
  chmodSync(new URL('main.js', dist), 0o755);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
