import { expect, test } from 'vitest';
import type { Settings } from './flags.ts';
import { type Loaded, loadSettings, type Sources } from './load.ts';

const load = (line: string, sources: Partial<Sources> & { file?: object } = {}) =>
  loadSettings({
    arguments: line === '' ? [] : line.split(' '),
    environment: {},
    readFile: () => {
      if (!sources.file) throw new Error('no such file');
      return JSON.stringify(sources.file);
    },
    exists: () => true,
    ...sources,
  });

function accepted(loaded: Loaded): Extract<Loaded, { type: 'settings' }> {
  if (loaded.type !== 'settings') throw new Error(loaded.problems.map(({ sentence }) => sentence).join('\n'));
  return loaded;
}
const settings = (loaded: Loaded): Settings => accepted(loaded).settings;

test('loadSettings: gives defaults and no notes without sources', () => {
  expect(load('')).toMatchObject({ type: 'settings', notes: [], settings: { contextsize: 16384, port: 5001 } });
  expect(accepted(load('')).given.size).toBe(0);
});

test('loadSettings: command line over environment over file over defaults', () => {
  const file = { password: 'file', contextsize: 1024, adminpassword: 'file', quiet: true };
  const environment = { KCPP_PASSWORD: 'environment', KCPP_ADMINPASSWORD: 'environment' };
  const loaded = accepted(load('--config x --password line', { file, environment }));
  expect(loaded.settings).toMatchObject({ password: 'line', adminpassword: 'environment', contextsize: 1024 });
  expect([...loaded.given].toSorted()).toEqual(['adminpassword', 'config', 'contextsize', 'password', 'quiet']);
  expect(loaded.notes).toContain('Overriding Config Value: password');
  expect(loaded.notes).toContain('Overriding Config Value: adminpassword');
});

test('loadSettings: our environment variable wins over the older one, and an empty one is ignored', () => {
  const both = { PARLEY_PASSWORD: 'ours', KCPP_PASSWORD: 'theirs' };
  expect(settings(load('', { environment: both })).password).toBe('ours');
  expect(settings(load('', { environment: { ...both, PARLEY_PASSWORD: '' } })).password).toBe('theirs');
});

test('loadSettings: PARLEY_HOST sets the address for containers, and --host wins over it', () => {
  const environment = { PARLEY_HOST: '0.0.0.0' };
  expect(settings(load('', { environment })).host).toBe('0.0.0.0');
  expect(settings(load('--host 127.0.0.1', { environment })).host).toBe('127.0.0.1');
});

test('loadSettings: a flag of the command line replaces exclusive flags of the file', () => {
  const loaded = accepted(load('--config x --usecpu', { file: { usevulkan: [0] } }));
  expect(loaded.settings).toMatchObject({ usecpu: true, usevulkan: null });
  expect(loaded.notes).toEqual(['Overriding Config Value: usevulkan']);
});

test('loadSettings: reports a flag without effect once', () => {
  expect(accepted(load('--sdvaeauto --sdphotomaker x')).notes).toEqual([
    'not available yet: --sdvaeauto',
    'not available yet: --sdphotomaker',
  ]);
});

test('loadSettings: a file with only default values gives no note', () => {
  const file = { websearch: false, multiplayer: false, sdmodel: '', noblas: false, rpcport: 5551, sdloramult: [1.0] };
  const loaded = accepted(load('--config x', { file }));
  expect(loaded.notes).toEqual([]);
  expect([...loaded.given]).toEqual(['config']);
});

test('loadSettings: a file may run a command only with the flag of the command line', () => {
  const file = { onready: 'echo' };
  expect(settings(load('--config x', { file })).onready).toBe('');
  expect(settings(load('--config x --allow-config-onready', { file })).onready).toBe('echo');
});

test.each([
  ['--bogusflag', 1, '--bogusflag is not a flag; --help lists them all.'],
  ['--cli --launch', 1, '--launch cannot be used with --cli, which starts no server.'],
  ['--config x', 2, 'Cannot read config `x`: no such file.'],
  ['--config https://a/b.kcpps', 2, '--config https://a/b.kcpps: downloading is not available yet; name a file.'],
  ['--mmproj https://a/m.gguf', 2, '--mmproj https://a/m.gguf: downloading is not available yet; name a file.'],
  ['--hf-file m.gguf', 1, '--hf-file needs --hf-repo: the repository on the hub that has the file.'],
  ['-m m.gguf -hf a/b', 1, '--model and --hf-repo exclude each other.'],
])('loadSettings: rejects %s with exit code %i', (line, exitCode, sentence) => {
  expect(load(line)).toMatchObject({ type: 'refused', exitCode, problems: [{ sentence }] });
});

test.each([
  ['https://a/m.gguf', 'https://a/m.gguf'],
  ['--model hf:a/b:Q4_K_M', 'hf:a/b:Q4_K_M'],
  ['-hf a/b:Q4_K_M', 'hf:a/b:Q4_K_M'],
  ['--hf-repo a/b -hff UD/m.gguf', 'hf:a/b/UD/m.gguf'],
  ['-hf a/b:Q8_0 --hf-file m.gguf', 'hf:a/b/m.gguf'],
  ['-hf hf:a/b', 'hf:a/b'],
])('loadSettings: %s is a model that is downloaded, not a file', (line, model) => {
  expect(settings(load(line, { exists: () => false })).model).toEqual([model]);
});

test('loadSettings: a config can name a model on the hub, and -hf replaces its model', () => {
  const file = { model_param: 'hf:a/b', contextsize: 4096 };
  expect(settings(load('--config x', { file, exists: () => false })).model).toEqual(['hf:a/b']);
  expect(settings(load('--config x -hf c/d', { file, exists: () => false }))).toMatchObject({
    model: ['hf:c/d'],
    contextsize: 4096,
  });
});

test('loadSettings: parley run takes the name of a model, flags and a prompt', () => {
  const runs = (line: string) =>
    loadSettings({ arguments: line.split(' '), runs: true, environment: {}, readFile: () => '', exists: () => false });
  expect(settings(runs('qwen3:8b --contextsize 4096 why is it blue'))).toMatchObject({
    model: ['name:qwen3:8b'],
    contextsize: 4096,
    prompt: 'why is it blue',
  });
  expect(settings(runs('acme/Foo:Q4_K_M --quiet'))).toMatchObject({ model: ['name:acme/Foo:Q4_K_M'], prompt: '' });
  expect(settings(runs('--help')).help).toBe(true);
  expect(runs('--quiet')).toMatchObject({ type: 'refused', exitCode: 1 });
  expect(runs('a/b --model https://c/c.gguf')).toMatchObject({
    problems: [{ sentence: '--model is given twice: by its flag, and as a/b.' }],
  });
});

test('loadSettings: says how to download a model whose name was taken for a path', () => {
  expect(load('acme/Foo-GGUF:Q4_K_M', { exists: () => false })).toMatchObject({
    problems: [
      {
        sentence:
          '--model: acme/Foo-GGUF:Q4_K_M does not exist. To download it from the hub: --model hf:acme/Foo-GGUF:Q4_K_M',
      },
    ],
  });
});

test.each(['serve', 'qwen3:8b'])('loadSettings: says of %s what names a command and what a model', (word) => {
  const sentence = `--model: ${word} does not exist. Nor is it a command (parley --help lists them). To get a model by its name: parley run ${word}`;
  expect(load(word, { exists: () => false })).toMatchObject({ problems: [{ sentence }] });
});

test('loadSettings: rejects a missing model', () => {
  expect(load('m.gguf', { exists: () => false })).toMatchObject({
    type: 'refused',
    exitCode: 2,
    problems: [{ sentence: '--model: m.gguf does not exist.' }],
  });
});

test('loadSettings: finds a file without its known extension, and prefers the exact name', () => {
  const mcpfile = (...there: string[]) => load('--mcpfile tools', { exists: (path) => there.includes(path) });
  expect(accepted(mcpfile('tools.json')).settings.mcpfile).toBe('tools.json');
  expect(accepted(mcpfile('tools', 'tools.json')).settings.mcpfile).toBe('tools');
  expect(mcpfile('other')).toMatchObject({ problems: [{ sentence: '--mcpfile: tools does not exist.' }] });
});

test('loadSettings: the default of tool turns is eight', () => {
  const turns = (line: string) => accepted(load(line)).settings.mcpserverloop;
  expect(['', '--mcpserverloop', '--mcpserverloop 3'].map(turns)).toEqual([0, 8, 3]);
  expect(load('--mcpserverloop 1000')).toMatchObject({ type: 'refused' });
});

test('loadSettings: does not check the file of a flag without effect', () => {
  const loaded = accepted(load('--sdphotomaker https://a/sd.gguf', { exists: () => false }));
  expect(loaded.notes).toEqual(['not available yet: --sdphotomaker']);
});

test('loadSettings: the exit code of wrong flags wins over that of missing files', () => {
  expect(load('m.gguf --port x', { exists: () => false })).toMatchObject({ type: 'refused', exitCode: 1 });
});

test('loadSettings: ignores missing files with --ignoremissing', () => {
  const loaded = accepted(load('--lora a b c --ignoremissing', { exists: (path) => path === 'b' }));
  expect(loaded.settings.lora).toEqual(['b']);
  expect(loaded.notes).toEqual(['--lora is ignored: a does not exist.', '--lora is ignored: c does not exist.']);
});

test('loadSettings: --preloadstory is an existing file or the story as text', () => {
  expect(load('--preloadstory no.json', { exists: () => false })).toMatchObject({
    type: 'refused',
    exitCode: 2,
    problems: [{ sentence: '--preloadstory: no.json does not exist.' }],
  });
  expect(accepted(load('--preloadstory {"a":1}', { exists: () => false })).settings.preloadstory).toBe('{"a":1}');
  const passed = accepted(load('--preloadstory no.json --ignoremissing', { exists: () => false }));
  expect(passed.settings.preloadstory).toBe('');
});

test('loadSettings: always rejects a missing certificate', () => {
  expect(load('--ssl cert key --ignoremissing', { exists: () => false })).toMatchObject({
    type: 'refused',
    exitCode: 2,
  });
});

test('loadSettings: returns help and version despite other errors', () => {
  expect(load('m.gguf --help', { exists: () => false })).toMatchObject({ type: 'settings', settings: { help: true } });
  expect(load('--cli --launch --version')).toMatchObject({ type: 'settings', settings: { version: true } });
});

test('loadSettings: reports that a reply length in --gendefaults has no effect', () => {
  expect(accepted(load('--gendefaults={"max_length":100}')).notes).toEqual([
    '--gendefaults does not set the reply length: max_length has no effect. Use --defaultgenamt.',
  ]);
});

test('loadSettings: rejects invalid --gendefaults', () => {
  expect(load('--gendefaults={"temperature":"hot","temprature":1}')).toMatchObject({
    type: 'refused',
    exitCode: 1,
    problems: [
      { sentence: '--gendefaults: temperature must be a number, not "hot".' },
      { sentence: '--gendefaults: temprature is not a field of a request. Did you mean temperature?' },
    ],
  });
  expect(load('--config x', { file: { gendefaults: { top_k: 'many' } } })).toMatchObject({ exitCode: 1 });
});

test('loadSettings: expands ~ in the folder of the disk cache', () => {
  const at = (environment: Sources['environment']) => load('--diskcache ~/cache:5G', { environment });
  expect(settings(at({ HOME: '/home/me' })).diskcache).toBe('/home/me/cache:5G');
  expect(settings(at({ USERPROFILE: 'C:\\me' })).diskcache).toBe('C:\\me/cache:5G');
  expect(at({})).toMatchObject({ type: 'refused', exitCode: 1 });
});

test('loadSettings: rejects a disk cache with an invalid size', () => {
  const sentence =
    '--diskcache must be FOLDER or FOLDER:SIZE with a size such as 20G or 500MB, and "20Gx" is not a size.';
  expect(load('--diskcache /cache:20Gx')).toMatchObject({ type: 'refused', exitCode: 1, problems: [{ sentence }] });
});

test('loadSettings: reports flags that cancel each other', () => {
  expect(accepted(load('--batchall')).notes).toEqual(['--batchall has no effect without --parallelrequests.']);
});

test.each([
  ['{ "contextsize": ', 'unexpected end of JSON at line 1'],
  ['{\n  "contextsize": 1024,\n', 'unexpected end of JSON at line 2'],
  ['[]', 'it is not a JSON object'],
])('loadSettings: names the config file that is broken: %j', (text, reason) => {
  const loaded = loadSettings({
    arguments: ['--config', 'broken.kcpps'],
    environment: {},
    readFile: () => text,
    exists: () => true,
  });
  expect(loaded).toMatchObject({ problems: [{ sentence: `Cannot read config \`broken.kcpps\`: ${reason}.` }] });
});

test('loadSettings: reports the line of a JSON syntax error', () => {
  const loaded = loadSettings({
    arguments: ['--config', 'broken.kcpps'],
    environment: {},
    readFile: () => '{\n"contextsize": 1024\n"port": 5}',
    exists: () => true,
  });
  expect(loaded.type === 'refused' && loaded.problems[0]?.sentence).toMatch(
    /^Cannot read config `broken.kcpps`: .* at line 3\.$/,
  );
});

test('loadSettings: beforeRules has the settings before the rules', () => {
  const sources = { arguments: ['--contextsize', '1024'], environment: {}, readFile: () => '', exists: () => true };
  const { settings: ruled, beforeRules } = accepted(loadSettings(sources));
  expect([ruled.defaultgenamt, beforeRules?.defaultgenamt]).toEqual([512, 2048]);
});

test('loadSettings: --parallelrequests raises the default of --multiuser, and no explicit value', () => {
  expect(settings(load('--parallelrequests 16')).multiuser).toBe(16);
  expect(settings(load('--parallelrequests 16 --multiuser 10')).multiuser).toBe(10);
});
