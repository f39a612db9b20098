import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { root } from './set-up.mjs';

/**
 * Builds the pages, and lays compressed copies of them beside, so that nothing is compressed while somebody waits. Returns the
 * folders of the packages that are in them.
 */
export async function buildWeb(quiet = true) {
  const { build } = await import('vite');
  const { output } = await build({
    configFile: fileURLToPath(new URL('web/vite.config.ts', root)),
    logLevel: quiet ? 'error' : 'info',
  });
  const folder = fileURLToPath(new URL('dist/web/', root));
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!/\.(html|js|mjs|css|svg|json|webmanifest)$/.test(name)) continue;
    const path = join(folder, name);
    const bytes = readFileSync(path);
    if (bytes.length < 1024) continue;
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
    writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }));
  }
  const sources = output.flatMap(({ moduleIds = [], originalFileNames = [] }) => [...moduleIds, ...originalFileNames]);
  const names = sources.map((name) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(name)?.[1]).filter(Boolean);
  return [...new Set(names)].sort().map((name) => fileURLToPath(new URL(`node_modules/${name}`, root)));
}
