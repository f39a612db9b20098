import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, root } from './set-up.mjs';

const path = (name) => fileURLToPath(new URL(name, root));

/**
 * Bundles src/ into dist/, puts the pages of web/ beside it, and converts weights into weights/. Beside the program are
 * `build.json` (the commit) and `licenses.json` (of packages whose code is in the pages).
 */
export async function build() {
  ensureInstalled();
  console.log('Building the server and its pages, converting weights …');
  const startedAt = performance.now();
  rmSync(path('dist'), { recursive: true, force: true });
  // The pages take longest: another process builds them at the same time.
  const pages = spawn(process.execPath, [path('scripts/web.mjs')], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let packagesInPages = [];
  pages.on('message', (folders) => {
    packagesInPages = folders;
  });
  const built = once(pages, 'exit');
  // It may have been installed only now.
  const { bundle, importModule } = await import('./bundle.mjs');
  await bundle(path('src'), path('dist'));
  const { makeWeights } = await importModule('scripts/conversion/weights.ts');
  await makeWeights(path('weights'));
  const { readPackage } = await importModule('src/server/licenses.ts');
  const [code] = await built;
  if (code !== 0) process.exit(1);
  const licences = packagesInPages.map(readPackage);
  writeFileSync(path('dist/licenses.json'), `${JSON.stringify(licences, undefined, 1)}\n`);
  writeFileSync(path('dist/build.json'), `${JSON.stringify({ commit: builtCommit() })}\n`);
  chmodSync(path('dist/main.js'), 0o755);
  console.log(`Built in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`);
}

/** The commit that is built, with `-dirty` if files differ from it. Undefined without git, and outside of our own repository. */
function builtCommit() {
  const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout?.trim() || undefined;
  const top = git('rev-parse', '--show-toplevel');
  if (!top || realpathSync(top) !== realpathSync(fileURLToPath(root))) return undefined;
  return git('describe', '--always', '--dirty', '--abbrev=12', '--exclude=*');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
