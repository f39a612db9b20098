import { spawnSync } from 'node:child_process';
import { chmodSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, root } from './set-up.mjs';

/** The modules one by one, as they come from the compiler. */
export const compiled = new URL('.cache/compiled/', root);

/**
 * Compiles src/, joins what comes of it in dist/, puts the pages of web/ beside it, and converts weights into weights/. Beside the program
 * lie `build.json` (the commit) and `licenses.json` (of packages whose code is in the pages).
 */
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
  const inPages = await buildWeb();
  const { readPackage } = await import(new URL('server/licenses.js', compiled));
  writeFileSync(new URL('licenses.json', dist), `${JSON.stringify(inPages.map(readPackage), undefined, 1)}\n`);
  writeFileSync(new URL('build.json', dist), `${JSON.stringify({ commit: builtCommit() })}\n`);
  chmodSync(new URL('main.js', dist), 0o755);
}

/** The commit that is built, with `-dirty` if files differ from it. Undefined without git, and outside of our own repository. */
function builtCommit() {
  const git = (...words) => spawnSync('git', words, { cwd: root, encoding: 'utf8' }).stdout?.trim() || undefined;
  const top = git('rev-parse', '--show-toplevel');
  if (!top || realpathSync(top) !== realpathSync(fileURLToPath(root))) return undefined;
  return git('describe', '--always', '--dirty', '--abbrev=12', '--exclude=*');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
