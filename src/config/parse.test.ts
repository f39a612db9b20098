import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseCommandLine } from './parse.ts';

const values = (line: string) => {
  const { values: layer, problems } = parseCommandLine(line === '' ? [] : line.split(' '));
  expect(problems).toEqual([]);
  return Object.fromEntries(layer);
};
const sentences = (...words: string[]) => parseCommandLine(words).problems.map(({ sentence }) => sentence);

test.each([
  ['', {}],
  ['m.gguf', { model: ['m.gguf'] }],
  ['m.gguf 8080', { model: ['m.gguf'], port: 8080 }],
  ['--model m.gguf --port 8080', { model: ['m.gguf'], port: 8080 }],
  ['-m a.gguf b.gguf -c 4096', { model: ['a.gguf', 'b.gguf'], contextsize: 4096 }],
  ['--ctx-size=4096', { contextsize: 4096 }],
  [
    '--remote http://a:1 --quiet --remote http://b:1,weight=2',
    { remote: ['http://a:1', 'http://b:1,weight=2'], quiet: true },
  ],
  [
    '--remote=http://a:1,weight=2 --remote http://b:1 http://c:1',
    { remote: ['http://a:1,weight=2', 'http://b:1', 'http://c:1'] },
  ],
  ['--model a.gguf --model b.gguf', { model: ['b.gguf'] }],
  ['-ngl 99', { gpulayers: 99 }],
  ['-ngl', { gpulayers: 1 }],
  ['--gpulayers -1 --quiet', { gpulayers: -1, quiet: true }],
  ['--gpulayers --quiet', { gpulayers: 1, quiet: true }],
  ['--multiuser', { multiuser: 10 }],
  ['--moecpu', { moecpu: 999 }],
  ['--benchmark', { benchmark: 'stdout' }],
  ['--benchmark out.csv', { benchmark: 'out.csv' }],
  ['--usevulkan', { usevulkan: [] }],
  ['--usevulkan 0 1', { usevulkan: [0, 1] }],
  ['--usevulkan=0 m.gguf', { usevulkan: [0], model: ['m.gguf'] }],
  ['--usecublas normal 0 mmq', { usecuda: ['normal', '0', 'mmq'] }],
  ['--tensor-split 7 3.5', { tensor_split: [7, 3.5] }],
  ['--ssl cert.pem key.pem m.gguf', { ssl: ['cert.pem', 'key.pem'], model: ['m.gguf'] }],
  ['--ropeconfig 1.0 -5', { ropeconfig: [1, -5] }],
  ['--prompt=--help', { prompt: '--help' }],
  ['--quiet -- -strange.gguf', { quiet: true, model: ['-strange.gguf'] }],
  ['--quantkv 1', { quantkv: 'q8_0' }],
  ['--port 1 --port 2', { port: 2 }],
  ['--allow-config-onready', { allow_config_onready: true }],
  ['settings.kcpps', { config: 'settings.kcpps' }],
  ['--gendefaults={"rep_pen":1.1}', { gendefaults: { rep_pen: 1.1 } }],
])('parseCommandLine: reads %j', (line, expected) => {
  expect(values(line)).toEqual(expected);
});

test.each([
  [['--contextsiz', '4096'], '--contextsiz is not a flag; did you mean --contextsize?'],
  [['--context', '4096'], '--context is not a flag; did you mean --contextsize?'],
  [['--use-cuda'], '--use-cuda is not a flag; did you mean --usecuda?'],
  [['--xyzzy'], '--xyzzy is not a flag; --help lists them all.'],
  [['--contextsize', '100'], '--contextsize needs a whole number from 256 to 524288, not 100.'],
  [['--contextsize', 'many'], '--contextsize needs a whole number from 256 to 524288, not many.'],
  [['--port', '80.5'], '--port needs a whole number from 0 to 65535, not 80.5.'],
  [['--port'], '--port needs a whole number from 0 to 65535.'],
  [['--batchsize', '100'], '--batchsize needs one of -1, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, not 100.'],
  [['--splitmode', 'half'], '--splitmode needs one of layer, row, tensor, not half.'],
  [['--ssl', 'cert.pem'], '--ssl needs exactly 2 values, not cert.pem.'],
  [['--usevulkan', 'm.gguf'], '--usevulkan needs whole numbers, not m.gguf.'],
  [['--gendefaults', '[1]'], '--gendefaults needs a JSON object, not [1].'],
  [['--launch=yes'], '--launch takes no value.'],
  [['--prompt', '- a list'], '--prompt needs a value (write --prompt=- a list for a value that begins with a dash).'],
  [['--port', '--quiet'], '--port needs a whole number from 0 to 65535.'],
  [['a.gguf', '5001', 'b.gguf'], 'b.gguf belongs to no flag; only a model and a port can be positional arguments.'],
  [
    ['a.gguf', '--quiet', '--model', 'b.gguf'],
    '--model is given twice: by its flag, and as the first positional argument (a.gguf).',
  ],
  [['--password='], '--password is empty. Omit the flag to run the server without a key.'],
  [['--usecuda', '--usevulkan'], '--usecuda and --usevulkan exclude each other.'],
  [['--usemmap', '--usedirectio'], '--usemmap and --usedirectio exclude each other.'],
  [['--sdlora', 'a', '--sdquant'], '--sdlora and --sdquant exclude each other.'],
])('parseCommandLine: rejects %j in one sentence', (words, sentence) => {
  const { problems } = parseCommandLine(words);
  expect(problems).toEqual([{ exitCode: 1, sentence }]);
});

test('parseCommandLine: reports every mistake', () => {
  expect(sentences('--port', 'x', '--contextsize', '1', '--bogusflag', 'v')).toHaveLength(3);
});

test('parseCommandLine: an explicit default value excludes nothing', () => {
  expect(sentences('--sdlora', 'a', '--sdquant', '0')).toEqual([]);
});

test('parseCommandLine: clamps a value and reports it', () => {
  const { values: layer, notes } = parseCommandLine(['--visionmaxres=9000']);
  expect(Object.fromEntries(layer)).toEqual({ visionmaxres: 2048 });
  expect(notes).toEqual(['--visionmaxres 9000 is outside 512 to 2048; using 2048.']);
});

test('--defaultgenamt: short replies are honoured, and none at all is refused in a sentence', () => {
  expect(Object.fromEntries(parseCommandLine(['--defaultgenamt', '8']).values)).toEqual({ defaultgenamt: 8 });
  expect(sentences('--defaultgenamt', '0')).toEqual(['--defaultgenamt needs a whole number not below 1, not 0.']);
});

test('parseCommandLine: translates an old flag and reports it', () => {
  const { values: layer, notes } = parseCommandLine(['--sdt5xxl', 't5.gguf', '-fa', '--noblas']);
  expect(Object.fromEntries(layer)).toEqual({ sdllm: 't5.gguf', noflashattention: false });
  expect(notes).toEqual([
    '--sdt5xxl is deprecated: use --sdllm.',
    '-fa is deprecated: it is on unless --noflashattention is given.',
    '--noblas is deprecated and has no effect: use --usecpu.',
  ]);
});

test('parseCommandLine: the current flag wins over its old form in any order', () => {
  expect(values('--sdllm new --sdt5xxl old').sdllm).toBe('new');
  expect(values('--sdt5xxl old --sdllm new').sdllm).toBe('new');
});

test('parseCommandLine: never throws', () => {
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom('--model', '--ssl', '-c', '--usevulkan', '--', '-', '--port=', '-1'),
  );
  fc.assert(
    fc.property(fc.array(word), (words) => {
      parseCommandLine(words);
    }),
  );
});
