import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { rolldown } from 'rolldown';

const slashed = (path) => path.split(sep).join('/');

/**
 * Joins the compiled modules of a folder to a few files in another: Node takes longer to find and open hundreds of small
 * ones than to run them. Each program (the server, and whatever it starts as a process or a thread) keeps its path.
 */
export async function bundle(from, to) {
  const modules = readdirSync(from, { recursive: true })
    .map(slashed)
    .filter((name) => name.endsWith('.js'));
  const programs = new Set([
    'main.js',
    ...modules.flatMap((name) => startedBy(name, readFileSync(join(from, name), 'utf8'))),
  ]);
  const joined = await rolldown({
    input: Object.fromEntries([...programs].map((name) => [name.replace(/\.js$/, ''), join(from, name)])),
    platform: 'node',
    // The compiler has made what Node understands.
    tsconfig: false,
    transform: { target: 'esnext' },
    external: (id) => !id.startsWith('.') && !id.startsWith(from),
    plugins: [ownAddresses(from)],
  });
  await joined.write({ dir: to, format: 'esm', entryFileNames: '[name].js', chunkFileNames: 'parts/[name]-[hash].js' });
  await joined.close();
}

/** The programs that a module names by their address. */
function startedBy(name, code) {
  const found = code.matchAll(/new URL\(\s*['"]([^'"]+\.js)['"],\s*import\.meta\.url,?\s*\)/g);
  return [...found].map(([, path]) => posix.join(posix.dirname(name), path));
}

/** A module finds other files from where it stood before it was joined to others. */
function ownAddresses(from) {
  return {
    name: 'own-addresses',
    transform: (code, id) =>
      code.replaceAll('import.meta.url', () => `moduleAddress("${slashed(relative(from, id))}")`),
    renderChunk: (code, { fileName }) =>
      code.replaceAll(/moduleAddress\("([^"]+)"\)/g, (_, name) => {
        const path = posix.relative(posix.dirname(fileName), name);
        return `new URL("${path.startsWith('.') ? path : `./${path}`}", import.meta.url).href`;
      }),
  };
}
