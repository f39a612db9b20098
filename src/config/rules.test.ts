import { expect, test } from 'vitest';
import { defaultSettings, type Settings } from './flags.ts';
import { applyRules, settingsNotes } from './rules.ts';

const rule = (changes: Partial<Settings>) => applyRules({ ...defaultSettings, ...changes });

test('applyRules: accepts the defaults', () => {
  expect(applyRules(defaultSettings)).toEqual({ settings: defaultSettings, notes: [], problems: [] });
});

test.each<[Partial<Settings>, Partial<Settings>]>([
  [{ jinja_tools: true }, { jinja: true }],
  [{ jinja_kwargs: { a: 1 } }, { jinja: true }],
  [{ jinjathink: 'false' }, { jinja: true, jinja_kwargs: { enable_thinking: false } }],
  [
    { jinjathink: 'true', jinja_kwargs: { a: 1 } },
    { jinja: true, jinja_kwargs: { a: 1, enable_thinking: true } },
  ],
  [{ routermode: true }, { admin: true }],
  [{ autoswapmode: true }, { routermode: true, admin: true }],
  [{ nofastforward: true }, { noshift: true }],
  [{ parallelrequests: 2 }, { noshift: true }],
  [{ parallelrequests: 1 }, { noshift: false }],
  [{ parallelrequests: 16 }, { multiuser: 16 }],
  [{ parallelrequests: 8 }, { multiuser: 10 }],
  [{ parallelrequests: 16, multiuser: 4 }, { multiuser: 4 }],
  [{ debugmode: 1, quiet: true }, { quiet: false }],
  [{ debugmode: 0, quiet: true }, { quiet: true }],
  [{ hordemodelname: 'x' }, { debugmode: -1 }],
  [{ hordekey: 'x' }, { debugmode: -1 }],
  [{ hordeworkername: 'x', debugmode: 1 }, { debugmode: 1 }],
  [{ usecuda: ['lowvram', 'rowsplit', 'nommq'] }, { lowvram: true, splitmode: 'tensor', nommq: true }],
  [{ splitmode: 'row' }, { splitmode: 'tensor' }],
  [{ contextsize: 2048 }, { defaultgenamt: 1024 }],
  [{ contextsize: 257 }, { defaultgenamt: 128 }],
  [{ agent: true }, { contextsize: 28672, defaultgenamt: 8192, jinja: true, jinja_tools: true }],
  [{ agent: true, contextsize: 65536 }, { contextsize: 65536 }],
])('applyRules: %j sets %j', (changes, expected) => {
  expect(rule(changes)).toMatchObject({ settings: expected, problems: [] });
});

test.each([{ parallelrequests: 16 }, { remote: ['http://a:1,parallel=50'] }] as const)(
  'applyRules: %j leaves an explicit --multiuser 10',
  (changes) => {
    const settings = { ...defaultSettings, ...changes } as Settings;
    expect(applyRules(settings, new Set(['multiuser'])).settings.multiuser).toBe(10);
    expect(applyRules(settings).settings.multiuser).toBeGreaterThan(10);
  },
);

test('applyRules: reports every change', () => {
  expect(rule({ autoswapmode: true, contextsize: 1000 }).notes).toEqual([
    '--autoswapmode sets --routermode to true.',
    '--routermode sets --admin to true.',
    '--contextsize sets --defaultgenamt to 500.',
  ]);
});

test.each<[Partial<Settings>]>([
  [{ cli: true, launch: true }],
  [{ cli: true, nomodel: true }],
  [{ cli: true, admin: true }],
  [{ cli: true, routermode: true }],
  [{ cli: true, benchmark: 'stdout' }],
])('applyRules: rejects %j together', (changes) => {
  expect(rule(changes).problems).toMatchObject([{ exitCode: 1 }]);
});

test.each(['search', 'ftp://a.example/', 'https://me:secret@a.example/', 'https://%s/', 'localhost:8080'])(
  'applyRules: %j is not a search URL',
  (websearchurl) => {
    const [problem] = rule({ websearchurl }).problems;
    expect(problem).toMatchObject({ exitCode: 1, sentence: expect.stringContaining('--websearchurl must be') });
  },
);

test('applyRules: a search URL enables the search', () => {
  const { settings, problems, notes } = rule({ websearchurl: 'http://localhost:8888/search?q=%s' });
  expect([settings.websearch, problems]).toEqual([true, []]);
  expect(notes).toContain('--websearchurl sets --websearch to true.');
});

test.each<[Partial<Settings>, string]>([
  [{ rpctargets: 'a:1' }, '--rpctargets is not supported'],
  [{ rpctargets: 'a:1', rpcmode: 'connect' }, '--rpctargets is not supported'],
  [{ rpcmode: 'host' }, '--rpcmode is not supported'],
])('applyRules: rejects %j with the reason and an alternative, because the library has no RPC', (changes, words) => {
  const [problem, ...more] = rule(changes).problems;
  expect(more).toEqual([]);
  expect(problem?.sentence).toContain(words);
  expect(problem?.sentence).toContain('built without RPC');
  expect(problem?.sentence).toContain('--remote');
});

test.each(['tools.example', 'ftp://tools.example/', 'https://me:word@tools.example/', 'https://tools.example/?a', ''])(
  '--mcpallow %j is refused',
  (url) => {
    expect(rule({ mcpallow: ['https://tools.example/mcp', url] }).problems).toMatchObject([
      { exitCode: 1, sentence: expect.stringContaining('--mcpallow must be') },
    ]);
    expect(rule({ mcpallow: ['https://tools.example/mcp'] }).problems).toEqual([]);
  },
);

test('applyRules: remote backends set the queue length to twice their capacity', () => {
  const remote = ['http://a:1,parallel=20', 'http://b:1,parallel=30', 'http://c:1,for=images'];
  expect(rule({ remote }).settings.multiuser).toBe(100);
  expect(rule({ remote, multiuser: 7 }).settings.multiuser).toBe(7);
  expect(rule({ remote: ['http://c:1,for=images'] }).settings.multiuser).toBe(10);
});

test.each<[Partial<Settings>]>([[{ cli: true }], [{ benchmark: 'stdout' }]])(
  'applyRules: rejects %j with a remote model',
  (changes) => {
    expect(rule({ ...changes, remote: ['http://a:1'] }).problems).toHaveLength(1);
  },
);

const alone = (names: string) =>
  `--parallelrequests has no effect with ${names}: requests run one at a time. --batchall runs them together.`;

test.each<[Partial<Settings>, string[]]>([
  [{ parallelrequests: 4, smartcache: 2 }, [alone('--smartcache')]],
  [{ parallelrequests: 4, smartcache: 0 }, []],
  [{ parallelrequests: 4, draftmodel: 'small.gguf' }, [alone('--draftmodel')]],
  [{ parallelrequests: 4, smartcache: 2, enableguidance: true }, [alone('--smartcache and --enableguidance')]],
  [{ parallelrequests: 4, draftngram: 3 }, []],
  [{ parallelrequests: 4, smartcache: 2, enableguidance: true, batchall: true }, []],
  [{ smartcache: 2, draftmodel: 'small.gguf' }, []],
  [{ batchall: true }, ['--batchall has no effect without --parallelrequests.']],
  [
    { parallelrequests: 8, multiuser: 4 },
    ['--multiuser 4 limits --parallelrequests: no more than 4 requests run together.'],
  ],
  [{ parallelrequests: 4, multiuser: 4 }, []],
  [{ sdvae: 'soft.gguf' }, ['--sdvae has no effect without --sdmodel.']],
  [
    { sdquant: 2, sdremote: ['x:1'], sdupscaler: '4x.pth' },
    ['--sdupscaler and --sdquant have no effect without --sdmodel.'],
  ],
  [{ sdvae: 'soft.gguf', sdmodel: 'dream.gguf' }, []],
  [{ parallelrequests: 4, multiuser: 1 }, []],
  [
    { parallelrequests: 16, multiuser: 1 },
    ['--multiuser 1 limits --parallelrequests: no more than 10 requests run together.'],
  ],
])('settingsNotes: %j cancels itself: %j', (changes, expected) => {
  expect(settingsNotes({ ...defaultSettings, ...changes })).toEqual(expected);
});

test('applyRules: rejects a music model without its four files with exit code 2', () => {
  expect(rule({ musicdiffusion: 'd', musicllm: 'l' }).problems).toEqual([
    { exitCode: 2, sentence: 'A music model has four files; missing: --musicembeddings, --musicvae.' },
  ]);
  const all = { musicllm: 'l', musicembeddings: 'e', musicdiffusion: 'd', musicvae: 'v' };
  expect(rule(all).problems).toEqual([]);
});

test.each(['soon', '-5', '10 weeks'])('--idle %s is refused', (idle) => {
  expect(rule({ idle }).problems).toMatchObject([
    { exitCode: 1, sentence: expect.stringContaining('--idle must be a time') },
  ]);
});

test.each(['', '0', '90', '10m', 'never'])('--idle %o is a time', (idle) => {
  expect(rule({ idle }).problems).toEqual([]);
});
