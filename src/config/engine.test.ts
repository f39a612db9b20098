import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commandKind, engineProblems, engineTexts, mergedEngines, readEngine, splitCommand } from './engine.ts';

const command = ['llama-server', '-m', '${model}', '--port', '${port}'];
const read = (object: object) => {
  const reading = readEngine(JSON.stringify(object));
  return reading.ok ? reading.engine : reading.problem;
};

describe('--engine', () => {
  test('NAME=COMMAND is split without a shell', () => {
    expect(readEngine("qwen3:8b=llama-server -m 'my model.gguf' --port ${port}", 'linux')).toMatchObject({
      ok: true,
      engine: { name: 'qwen3:8b', command: ['llama-server', '-m', 'my model.gguf', '--port', '${port}'] },
    });
  });

  test('an object has every field of a config', () => {
    const object = {
      command,
      model: 'q.gguf',
      kind: 'text',
      ready: '/health',
      timeout: '2m',
      env: { A: 'b' },
      cwd: '.',
    };
    expect(read({ ...object, stop: 'SIGINT', memory: '14GB', idle: '10m', parallel: 4, pass: ['cnet_*'] })).toEqual({
      command,
      model: 'q.gguf',
      kind: 'text',
      ready: '/health',
      timeoutMs: 120_000,
      env: { A: 'b' },
      cwd: '.',
      stop: 'SIGINT',
      memoryBytes: 14 * 2 ** 30,
      idleMs: 600_000,
      parallel: 4,
      pass: ['cnet_*'],
    });
  });

  test('a command may be one text, split as a shell would', () => {
    expect(read({ command: "'my server' --port ${port}" })).toMatchObject({
      command: ['my server', '--port', '${port}'],
    });
  });

  test.each([
    [{ command: 5 }, ': command must be a list of texts: the program, then its arguments'],
    [{ command: ' ' }, ': command must be a list of texts: the program, then its arguments'],
    [
      { command: 'x ${port} | tee log' },
      ': command must be a command without |, because no shell runs it; quote it, or name a script',
    ],
    [{ command: [] }, ': command must be a list of texts: the program, then its arguments'],
    [{ model: 'x' }, ': command is missing: the program, then its arguments'],
    [
      { command: ['x', '--port', '8080'] },
      expect.stringMatching(/^: its command has no \$\{port\}; write that where .* such as --port \$\{port\} /),
    ],
    [{ command }, ': its command has ${model}, and model is missing: the file or name that replaces it'],
    [
      { command, model: 'x', ports: 1 },
      expect.stringMatching(/^: it has no field ports; its fields are name, command, /),
    ],
    [{ command, model: 'x', kind: 'video' }, expect.stringMatching(/^: kind must be one of text, /)],
    [{ command, model: 'x', idle: 'soon' }, ': idle must be a time such as 10m'],
    [{ command, model: 'x', memory: 'much' }, ': memory must be a size such as 14GB'],
    [{ command, model: 'x', stop: 'SIGFOO' }, expect.stringMatching(/^: stop must be one of SIGTERM/)],
    [{ name: 'a', command, model: 'x', env: { A: 1 } }, ' a: env must be an object of environment variables'],
  ])('%j is rejected with what it must be', (object, expected) => {
    expect(read(object)).toEqual(expected);
  });

  test('two engines of one name, and words that are no engine, are problems', () => {
    const a = 'a=x --port ${port}';
    expect(
      engineProblems([a, 'A=y --port ${port}', 'nonsense', 'b=x | tee ${port}']).map(({ sentence }) => sentence),
    ).toEqual([
      '--engine: two engines are called a.',
      "--engine: it must be NAME='COMMAND', such as qwen='llama-server -m qwen.gguf --port ${port}'.",
      '--engine b: its command must be a command without |, because no shell runs it; quote it, or name a script.',
    ]);
  });

  test('another config keeps the named engines of the server and brings its own', () => {
    const [own] = engineTexts({ command, model: 'x' }) as string[];
    const named = 'a=x --port ${port}';
    expect(mergedEngines([own, 'c=y --port ${port}'], [named])).toEqual([own, named]);
    expect(mergedEngines(undefined, [String(own), named])).toEqual([named]);
    expect(mergedEngines(undefined, null)).toBeNull();
    expect(mergedEngines(['{}'], null)).toEqual(['{}']);
  });
});

test.each([
  [['/usr/bin/llama-server', '-m', 'x'], 'text'],
  [['llama-server.exe', '--embeddings'], 'embeddings'],
  [['llama-server', '--reranking'], 'rerank'],
  [['vllm', 'serve', 'x'], 'text'],
  [['python3', '-m', 'sglang.launch_server'], 'text'],
  [['sd-server'], 'images'],
  [['whisper-server'], 'transcription'],
  [['python', 'ComfyUI/main.py'], 'comfyui'],
  [['my-server'], undefined],
])('commandKind: %j is %s', (words, kind) => {
  expect(commandKind({ command: words })).toBe(kind);
});

describe('splitCommand', () => {
  test.each([
    ['a  b\tc', ['a', 'b', 'c']],
    [`a 'b c' "d 'e'" ''`, ['a', 'b c', "d 'e'", '']],
    [`a\\ b "c\\"d" 'e\\f'`, ['a b', 'c"d', 'e\\f']],
    [`x'y'z --p=\${port}`, ['xyz', '--p=${port}']],
  ])('%s', (text, args) => {
    expect(splitCommand(text, 'linux')).toEqual({ ok: true, args });
  });

  test('backslashes of Windows paths stay', () => {
    expect(splitCommand('C:\\a\\b.exe -m "D:\\c d\\e.gguf"', 'win32')).toEqual({
      ok: true,
      args: ['C:\\a\\b.exe', '-m', 'D:\\c d\\e.gguf'],
    });
  });

  test.each(['a | b', 'a > b', 'a; b', 'a && b', 'a $(b)', "a 'b", ''])('%j is rejected', (text) => {
    expect(splitCommand(text, 'linux').ok).toBe(false);
  });

  test('quoted arguments come back as they were', () => {
    const quoted = (arg: string) => `'${arg.replaceAll("'", "'\\''")}'`;
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (args) => {
        expect(splitCommand(args.map(quoted).join(' '), 'linux')).toEqual({ ok: true, args });
      }),
    );
  });
});
