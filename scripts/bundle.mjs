import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { root } from './set-up.mjs';

const slashed = (path) => path.split(sep).join('/');

/**
 * Bundles the TypeScript modules of a folder into a few files in another: Node takes longer to find and open hundreds of
 * small ones than to run them. Each program (the server, and whatever it starts as a process or a thread) keeps its path.
 * Types are removed and not checked.
 */
export async function bundle(from, to) {
  const modules = readdirSync(from, { recursive: true })
    .map(slashed)
    .filter((name) => name.endsWith('.ts') && !/\.test\.ts$|(^|\/)(testing|fixtures)\/|^engines\/fake\//.test(name));
  const programs = new Set([
    'main',
    ...modules.flatMap((name) => startedBy(name, readFileSync(join(from, name), 'utf8'))),
  ]);
  const groups = modules.includes('server/app.ts') ? [serverFiles(from, [...programs])] : [];
  await bundleModules(from, to, [...programs], groups);
}

/** Bundles these modules of a folder (`engines/host/parent`), each of which keeps its path and its exports. */
export async function bundleModules(from, to, names, groups = []) {
  await write(from, to, Object.fromEntries(names.map((name) => [name, join(from, `${name}.ts`)])), groups);
}

/** Imports a TypeScript module of this project into a script. */
export async function importModule(name) {
  const entry = name.replace(/\.ts$/, '');
  // A folder for each: parts of two bundles may have one name and different exports.
  const folder = new URL(`.cache/scripts/${entry.replaceAll('/', '-')}/`, root);
  await write(fileURLToPath(root), fileURLToPath(folder), { [entry]: fileURLToPath(new URL(name, root)) });
  // The server reads its version.
  copyFileSync(new URL('package.json', root), new URL('package.json', folder));
  return import(new URL(`${entry}.js`, folder));
}

/** Bundles one module into one CommonJS script. */
export async function bundleScript(from, to) {
  const bundled = await rolldown({ input: from, platform: 'node', tsconfig: false, external: /^node:/ });
  await bundled.write({ file: to, format: 'cjs', codeSplitting: false });
  await bundled.close();
}

/** Packages whose code becomes part of the program, because they are large and little of them is used; the pages have them too. */
const bundledPackages = /(^|[\\/]node_modules[\\/])pdfjs-dist[\\/]/;

async function write(from, to, input, groups = []) {
  const bundled = await rolldown({
    input,
    preserveEntrySignatures: 'allow-extension',
    platform: 'node',
    tsconfig: false,
    transform: { target: 'esnext' },
    external: (id) => !id.startsWith('.') && !id.startsWith(from) && !bundledPackages.test(id),
    plugins: [ownAddresses(from), latinOnly()],
    experimental: {
      chunkOptimization: {
        // What a module shares with those that it imports later stays in its file. Not done if any module awaits at its top level.
        avoidRedundantChunkLoads: true,
        // No other file may import a program: that would start it.
        mergeCommonChunks: false,
      },
    },
  });
  await bundled.write({
    dir: to,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name]-[hash].js',
    // Node reads all of it at the start, and comments are a tenth.
    comments: { jsdoc: false },
    // Small modules that nearly all programs share: one file instead of dozens.
    codeSplitting: { groups: [{ name: 'core', test: /[\\/]src[\\/]core[\\/]/ }, ...groups] },
  });
  await bundled.close();
}

/**
 * One file for the modules that commands use too, one for the others that the server loads before its engine starts, and one for the rest
 * of the server: Node takes about a millisecond for each file. What workers use is in none of them, and what the launcher and the reports
 * use not in the last one, because they would read all of it.
 */
function serverFiles(from, programs) {
  const path = (name) => join(from, `${name}.ts`);
  const reports = ['server/doctor', 'server/licenses', 'server/launcher'].map(path);
  const sets = (moduleOf) => {
    const reached = (modules, { later = false } = {}) => {
      const paths = new Set(modules);
      for (const one of paths) {
        const { importedIds = [], dynamicallyImportedIds = [] } = moduleOf(one) ?? {};
        for (const id of later ? [...importedIds, ...dynamicallyImportedIds] : importedIds) paths.add(id);
      }
      return paths;
    };
    for (const one of reports) if (!moduleOf(one)) throw new Error(`${one} is named here, and not in the bundle`);
    const commands = moduleOf(path('server/commands'))?.dynamicallyImportedIds ?? [];
    return {
      workers: reached(programs.filter((name) => name !== 'main').map(path), { later: true }),
      common: reached([path('main'), ...commands.filter((id) => !reports.includes(id))]),
      starting: reached([path('main'), path('server/model-modes')]),
      serving: reached([path('server/app'), path('server/routed-app')]),
      others: reached(reports),
    };
  };
  let known;
  const name = (id, context) => {
    known ??= sets((one) => context.getModuleInfo(one));
    const { workers, common, starting, serving, others } = known;
    if (workers.has(id) || !(starting.has(id) || serving.has(id))) return null;
    if (common.has(id)) return 'main';
    if (starting.has(id)) return 'start';
    return others.has(id) ? null : 'server';
  };
  return { name, debugName: 'server', includeDependenciesRecursively: false };
}

/** The programs that a module names by their address, without the ending. */
function startedBy(name, code) {
  const workerUrls = code.matchAll(/new URL\(\s*['"]([^'"]+)\.js['"],\s*import\.meta\.url,?\s*\)/g);
  return [...workerUrls].map(([, path]) => posix.join(posix.dirname(name), path));
}

/** A module finds other files from its original location. */
function ownAddresses(from) {
  return {
    name: 'own-addresses',
    transform: (code, id) =>
      code.replaceAll(
        'import.meta.url',
        () => `moduleAddress("${slashed(relative(from, id)).replace(/\.ts$/, '.js')}")`,
      ),
    renderChunk: (code, { fileName }) =>
      code.replaceAll(/moduleAddress\("([^"]+)"\)/g, (_, name) => {
        const path = posix.relative(posix.dirname(fileName), name);
        return `new URL("${path.startsWith('.') ? path : `./${path}`}", import.meta.url).href`;
      }),
  };
}

/**
 * Writes characters beyond Latin-1 as escapes: one of them makes V8 keep the whole file with two bytes for each character as long as the
 * program runs.
 */
function latinOnly() {
  const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return {
    name: 'latin-only',
    generateBundle: (_, files) => {
      for (const file of Object.values(files)) {
        if (file.type !== 'chunk') continue;
        const lost = /\\[^\0-\u00ff]|String\.raw`[^`]*[^\0-\u00ff`]/.exec(file.code);
        if (lost) throw new Error(`${file.fileName} has a character that cannot be escaped: ${lost[0].slice(-40)}`);
        file.code = file.code.replaceAll(/[^\0-\u00ff]/g, escaped);
      }
    },
  };
}
