import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const source = fileURLToPath(new URL('../src', import.meta.url));

/** What each folder may import of ours, besides itself. `main.ts` may import anything. */
const allowed: Readonly<Record<string, readonly string[] | 'anything'>> = {
  core: [],
  'one-file': ['core'],
  patterns: [],
  sampling: ['core', 'patterns'],
  grammar: ['core', 'patterns'],
  gguf: ['core'],
  audio: ['core'],
  config: ['core'],
  chat: ['core', 'grammar', 'patterns'],
  queue: ['core'],
  engines: ['core', 'audio', 'sampling', 'chat', 'config', 'gguf', 'grammar', 'packs', 'patterns', 'processes'],
  http: ['core'],
  protocols: ['core', 'audio', 'chat', 'config', 'gguf', 'grammar', 'http', 'patterns', 'store'],
  store: ['core'],
  batches: ['core', 'http', 'store'],
  keys: ['core', 'store'],
  lan: ['core', 'http', 'store'],
  documents: ['core', 'engines', 'search'],
  search: ['core', 'http', 'patterns'],
  library: ['core', 'gguf'],
  agents: ['core'],
  packs: ['core', 'library'],
  processes: [],
  mcp: ['core', 'processes'],
  observe: ['core', 'config'],
  inspector: ['core', 'chat', 'http', 'observe', 'protocols'],
  launcher: ['core', 'config', 'engines', 'http', 'library', 'protocols'],
  models: ['core', 'chat', 'config', 'engines', 'gguf', 'library', 'observe', 'packs', 'processes', 'queue'],
  server: 'anything',
};

/** Ground that dialects share without being one: what every dialect is given, and the fields that many of them read. */
const commonGround = ['protocols', 'protocols/controls', 'protocols/documents', 'protocols/images'];
const engineGround = ['engines', 'engines/bare', 'engines/host', 'engines/onnx'];
/** Engines that compute with the library of another one. */
const builtOn: Readonly<Record<string, string>> = {
  'engines/embedding': 'engines/llama',
  'engines/program': 'engines/remote',
};

/** The folders of the web client. Each imports only folders before it; the last ones are the pages. */
const pageFolders = [
  ...['languages', 'api', 'markdown', 'ui', 'saved', 'models', 'story', 'conversations', 'files', 'settings', 'regex'],
  ...[
    'notifications',
    'composer',
    'shortcuts',
    'keys',
    'connection',
    'people',
    'sound',
    'draw',
    'documents',
    'characters',
    'quick-replies',
    'memories',
    'knowledge',
    'tools',
    'replies',
    'talk',
    'roleplay',
  ],
  ...[
    'writer',
    'library',
    'sync',
    'settings-dialog',
    'chat',
    'write',
    'app',
    'join',
    'lan',
    'docs',
    'inspector',
    'launcher',
    'translations',
  ],
];

interface SourceFile {
  /** From its root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /** The files of ours that it imports, also only for their types. */
  readonly imports: readonly string[];
}

/** Tests and what is made for them stand outside: they may look at a part from wherever they like. */
const outside = /\.test\.ts$|(^|\/)testing\/|\/fixtures\/|^engines\/fake\//;

const files = readSources(source, /\.ts$/);
const product = files.filter(({ path }) => !outside.test(path));
const pages = readSources(fileURLToPath(new URL('../web/src', import.meta.url)), /\.(ts|svelte)$/).filter(
  ({ path }) => !outside.test(path),
);

/** What is made from the product besides the program: documents and measurements. */
const workbench = ['bench', 'scripts', 'scripts/conversion', 'scripts/pages'].flatMap((folder) => {
  const path = fileURLToPath(new URL(`../${folder}`, import.meta.url));
  const names = readdirSync(path).filter((name) => /\.m?[jt]s$/.test(name) && !name.endsWith('.test.ts'));
  return names.map((name) => readFileSync(join(path, name), 'utf8'));
});

function readSources(root: string, name: RegExp): readonly SourceFile[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && name.test(entry.name))
    .map((entry) => readSource(root, join(entry.parentPath, entry.name)))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function readSource(root: string, file: string): SourceFile {
  const text = readFileSync(file, 'utf8');
  const expected =
    /(?:^|\n)\s*(?:import|export)\s[^'"`;]*?from\s*['"](\.[^'"]+)['"]|\bimport\(\s*['"](\.[^'"]+)['"]\s*\)|(?:^|\n)import\s*['"](\.[^'"]+)['"]/g;
  const imports = [...text.matchAll(expected)].map(([, from, dynamic, bare]) =>
    slashes(relative(root, join(dirname(file), from ?? dynamic ?? bare ?? ''))),
  );
  return { path: slashes(relative(root, file)), text, imports };
}

function slashes(path: string): string {
  return path.split(sep).join('/');
}

/** `core` of `core/errors.ts`; nothing for a file at the top. */
function folderOf(path: string): string | undefined {
  const [folder, ...rest] = path.split('/');
  return rest.length > 0 ? folder : undefined;
}

/** `protocols/native` of `protocols/native/decode.ts`. */
function partOf(path: string): string {
  const [folder, part, ...rest] = path.split('/');
  return rest.length > 0 ? `${folder}/${part}` : (folder ?? '');
}

function mayImport(from: string, to: string): boolean {
  const [here, there] = [folderOf(from), folderOf(to)];
  if (here === undefined) return true;
  if (there === undefined) return allowed[here] === 'anything';
  if (here !== there) return allowed[here] === 'anything' || Boolean(allowed[here]?.includes(there));
  if (here === 'protocols') return partOf(from) === partOf(to) || commonGround.includes(partOf(to));
  if (here === 'engines') {
    return [partOf(from), builtOn[partOf(from)], ...engineGround].includes(partOf(to));
  }
  return true;
}

describe('imports', () => {
  test('every folder has an import rule', () => {
    const folders = new Set(files.flatMap(({ path }) => folderOf(path) ?? []));
    expect([...folders].filter((folder) => !(folder in allowed))).toEqual([]);
  });

  test('follow the folder rules', () => {
    const wrong = product.flatMap(({ path, imports }) =>
      imports.filter((to) => !mayImport(path, to)).map((to) => `${path} → ${to}`),
    );
    expect(wrong).toEqual([]);
  });

  test('resolve to existing files', () => {
    const known = new Set(files.map(({ path }) => path));
    const lost = files.flatMap(({ path, imports }) =>
      imports
        .filter((to) => to.endsWith('.ts') && !known.has(to) && !to.startsWith('..'))
        .map((to) => `${path} → ${to}`),
    );
    expect(lost).toEqual([]);
  });

  test('have no cycles between folders', () => {
    const edges = new Map<string, Set<string>>();
    for (const { path, imports } of product) {
      const here = folderOf(path);
      if (here === undefined) continue;
      for (const to of imports) {
        const there = folderOf(to);
        if (there !== undefined && there !== here) edges.set(here, (edges.get(here) ?? new Set()).add(there));
      }
    }
    expect(findCircle(edges)).toBeUndefined();
  });

  test.each([
    ['src', product],
    ['web/src', pages],
  ])('have no cycles between subfolders of %s, at any depth', (_, sources) => {
    const folders = new Set(sources.flatMap(({ path }) => parentsOf(path)));
    const circles = [...folders].flatMap((folder) => {
      const edges = new Map<string, Set<string>>();
      for (const { path, imports } of sources) {
        const here = roomOf(path, folder);
        for (const to of here === undefined ? [] : imports) {
          const there = roomOf(to, folder);
          if (here !== undefined && there !== undefined && there !== here)
            edges.set(here, (edges.get(here) ?? new Set()).add(there));
        }
      }
      const circle = findCircle(edges);
      return circle === undefined ? [] : [`${folder}: ${circle}`];
    });
    expect(circles).toEqual([]);
  });

  test.each([
    ['src', product],
    ['web/src', pages],
  ])('have no cycles between files of %s, also of types', (_, sources) => {
    const edges = new Map(sources.map(({ path, imports }) => [path, new Set(imports)]));
    expect(findCircle(edges)).toBeUndefined();
  });

  test('of the web client follow the order of its folders', () => {
    const folders = new Set(pages.flatMap(({ path }) => folderOf(path) ?? []));
    expect([...folders].sort()).toEqual([...pageFolders].sort());
    const back = pages.flatMap(({ path, imports }) => {
      const here = pageFolders.indexOf(folderOf(path) ?? '');
      return imports
        .filter((to) => here >= 0 && pageFolders.indexOf(folderOf(to) ?? '') > here)
        .map((to) => `${path} → ${to}`);
    });
    expect(back).toEqual([]);
  });
});

/** `a`, `a/b` of `a/b/c.ts`. */
function parentsOf(path: string): readonly string[] {
  const folders = path.split('/').slice(0, -1);
  return folders.map((_, index) => folders.slice(0, index + 1).join('/'));
}

/** The folder inside of this one that a file lies in; files directly in it tie its rooms together and are none. */
function roomOf(path: string, folder: string): string | undefined {
  if (!path.startsWith(`${folder}/`)) return undefined;
  const [room, ...rest] = path.slice(folder.length + 1).split('/');
  return rest.length > 0 ? room : undefined;
}

function findCircle(edges: ReadonlyMap<string, ReadonlySet<string>>): string | undefined {
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): string | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node].join(' → ');
    if (done.has(node)) return undefined;
    for (const next of edges.get(node) ?? []) {
      const circle = visit(next, [...path, node]);
      if (circle) return circle;
    }
    done.add(node);
    return undefined;
  };
  for (const node of edges.keys()) {
    const circle = visit(node, []);
    if (circle) return circle;
  }
  return undefined;
}

/** A body is an object like any other to the language; that its fields are read through tables is for us to keep. */
describe('dialects', () => {
  const byHand = /\bbody(?:\.(?!ts\b|length\b|includes\b)\w+|\[)|\} = body\b/g;
  const dialects = product.filter(({ path }) =>
    /^protocols\/(native|openai|responses|messages|ollama|llamacpp|sdapi|comfy)\//.test(path),
  );

  test('read body fields only through field tables', () => {
    const named = dialects.flatMap(({ path, text }) =>
      [...text.replace(/call\.body\b/g, '').matchAll(byHand)].map(([match]) => `${path}: ${match}`),
    );
    // The one body that may be the value itself.
    expect(named).toEqual(['protocols/native/tokens.ts: body.schema']);
  });

  test('are all checked', () => {
    expect(new Set(dialects.map(({ path }) => partOf(path))).size).toBe(8);
  });
});

describe('files', () => {
  test('have at most 500 lines', () => {
    const sources = files.filter(({ path }) => !path.endsWith('.test.ts'));
    const long = sources.filter(({ text }) => text.split('\n').length > 501).map(({ path }) => path);
    expect(long).toEqual([]);
  });

  test('export nothing that only tests use', () => {
    const uses = new Map<string, number>();
    for (const text of [...[...product, ...pages].map((file) => file.text), ...workbench]) {
      for (const [word] of text.matchAll(/\w+/g)) uses.set(word, (uses.get(word) ?? 0) + 1);
    }
    const unused = product.flatMap(({ path, text }) =>
      [...text.matchAll(/^export (?:async )?(?:const|function\*?|class|interface|type) (\w+)/gm)]
        .filter(([, name = '']) => uses.get(name) === 1)
        .map(([, name]) => `${path}: ${name}`),
    );
    expect(unused).toEqual([]);
  });

  test('have no vague names', () => {
    const vague = files.filter(({ path }) => /(^|[/-])(utils?|helpers?|common|managers?|misc)([/.-]|$)/i.test(path));
    expect(vague.map(({ path }) => path)).toEqual([]);
  });
});

describe('engine kinds', () => {
  /** Files of the product that name a kind in their code, besides those of the kind: its folders and the files called after it. */
  const naming = (kind: string) =>
    [...product, ...pages]
      .filter(({ path }) => !new RegExp(`/${kind}[^/]*(/|$)`).test(path))
      .filter(({ text }) => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '').match(new RegExp(kind, 'i')))
      .map(({ path }) => path);

  test('music is named by its row, its flags, its pack and its dialect, and nowhere else', () => {
    expect(naming('music')).toEqual([
      'config/flags.ts',
      'models/engine-kinds.ts',
      'packs/catalogue.ts',
      'protocols/native/responses.ts',
      'protocols/native/routes.ts',
    ]);
  });
});

/** What these modules load by static imports: modules, and packages with one that imports them. */
function startup(...from: readonly string[]) {
  const loaded = new Map<string, string>();
  const reached = new Set(from);
  for (const path of reached) {
    const { text } = files.find((file) => file.path === path) ?? { text: '' };
    for (const [, from = ''] of text.matchAll(/(?:^|\n)(?:import|export)\s+(?!type\b)[^'";]*?from\s+'([^']+)'/g)) {
      if (from.startsWith('.')) reached.add(slashes(join(dirname(path), from)));
      else if (!from.startsWith('node:')) loaded.set(from, path);
    }
  }
  return { reached, loaded };
}

test('startup: loads no package; each is imported on first use', () => {
  const { reached, loaded } = startup('main.ts', 'server/model-modes.ts', 'server/app.ts');
  expect(reached.size).toBeGreaterThan(50);
  expect([...loaded]).toEqual([]);
});

test('startup: no module awaits at its top level, which would split the program into more files', () => {
  const waiting = product.filter(({ text }) => /^(?:(?:export )?(?:const|let) [^\n]*= )?await\b/m.test(text));
  expect(waiting.map(({ path }) => path)).toEqual([]);
});

test('startup: does not load what few servers need', () => {
  const late = [
    'audio/encode.ts',
    'chat/compaction.ts',
    'chat/server-tools/loop.ts',
    'engines/speech/sherpa/voice-model.ts',
    'inspector/view.ts',
    'library/download.ts',
    'library/find-models.ts',
    'models/remote-models.ts',
    'protocols/comfy/prompt.ts',
    'protocols/openapi/document.ts',
    'protocols/openai/responses.ts',
    'protocols/response-schemas.ts',
    'protocols/realtime/connection.ts',
    'server/model-library.ts',
    'server/replay-dialects.ts',
  ];
  const { reached } = startup('server/model-modes.ts', 'server/app.ts', 'server/routed-app.ts');
  expect(late.filter((path) => !files.some((file) => file.path === path))).toEqual([]);
  expect(late.filter((path) => reached.has(path))).toEqual([]);
});

/** Packages that run native code, by name or scope; a fault in one ends the process that loaded it. */
const nativePackages = /^(sharp|koffi|sherpa-onnx|node-llama-cpp|@node-llama-cpp\/|@fugood\/|onnxruntime-)/;

describe('the server process', () => {
  /** Everything that `main.ts` imports, also dynamically; workers are started by their address and not imported. */
  const inServer = new Set(['main.ts']);
  const packages = new Map<string, string>();
  const byPath = new Map(product.map((file) => [file.path, file]));
  for (const path of inServer) {
    for (const to of runtimeImports(byPath.get(path)?.text ?? '')) {
      if (to.startsWith('.')) inServer.add(slashes(join(dirname(path), to)));
      else packages.set(`${path}: ${to}`, to);
    }
  }

  test('imports no native package, statically or dynamically', () => {
    expect(inServer.size).toBeGreaterThan(300);
    const native = [...packages].filter(([, name]) => nativePackages.test(name)).map(([where]) => where);
    expect(native).toEqual([]);
  });

  test('does not import files that import native packages: they run in workers', () => {
    const native = product.filter(({ text }) => runtimeImports(text).some((name) => nativePackages.test(name)));
    const paths = native.map(({ path }) => path);
    expect(paths).toContain('engines/image-editing/worker/edit.ts');
    expect(paths).toContain('engines/llama/worker/native/native.ts');
    expect(paths.filter((path) => inServer.has(path))).toEqual([]);
  });
});

/** What a module loads when it runs: static and dynamic imports and `require`, without imports of types alone. */
function runtimeImports(text: string): readonly string[] {
  const expected =
    /(?:^|\n)\s*(?:import|export)\s+(?!type\b)[^'"`;]*?from\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)import\s*['"]([^'"]+)['"]|\brequire\(\s*['"]([^'"]+)['"]|createRequire\([^)]*\)\(\s*['"]([^'"]+)['"]/g;
  return [...text.matchAll(expected)].map((match) => match.slice(1).find((name) => name !== undefined) ?? '');
}
