import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, root } from './set-up.mjs';

const path = (name) => fileURLToPath(new URL(name, root));

/** Bundles src/ into dist/, puts the pages of web/ beside it, and converts weights into weights/. */
export async function build() {
  ensureInstalled();
  rmSync(path('dist'), { recursive: true, force: true });
  // The pages take longest: another process builds them at the same time.
  const pages = spawn(process.execPath, [path('scripts/web.mjs')], { cwd: root, stdio: 'inherit' });
  const built = once(pages, 'exit');
  // It may have been installed only now.
  const { bundle, importModule } = await import('./bundle.mjs');
  await bundle(path('src'), path('dist'));
  const { makeWeights } = await importModule('scripts/conversion/weights.ts');
  await makeWeights(path('weights'));
  const [code] = await built;
  if (code !== 0) process.exit(1);
  chmodSync(path('dist/main.js'), 0o755);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
