import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { openRegistry } from '../../src/library/testing/registry.ts';
import { scripted } from '../load/scripted.ts';
import { fakeEngineCommand } from '../load/servers.ts';
import { nativeClient } from './client.ts';
import { runProgram } from './program.ts';
import { embeddedModel, liveServers, untrainedModel } from './server.ts';

const startServer = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-modes-'));
afterAll(() => rmSync(folder, { recursive: true }));
const packageFacts = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** What the scripted model says. */
const reply = 'A reply of known words.';

describe('--prompt', () => {
  test('--prompt: writes only the reply to standard output and exits with 0', async () => {
    const { code, stdout, stderr } = await runProgram([
      '--prompt',
      'Once upon a time',
      '--threads',
      '1',
      '--defaultgenamt',
      '64',
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\n$/);
    expect(stdout).not.toMatch(/Loading|Welcome|Listening|Input:/);
    expect(stderr).toContain('Load Text Model OK: True');
  });

  test('--prompt: writes exactly the reply', async () => {
    const flags = ['--prompt', scripted('Once upon a time', reply)];
    const { code, stdout } = await runProgram(flags, { command: fakeEngineCommand });
    expect([code, stdout]).toEqual([0, `${reply}\n`]);
  });

  test('--prompt without a model: exits with 2', async () => {
    const { code, stdout } = await runProgram(['--prompt', 'Hello', '--nomodel']);
    expect([code, stdout]).toEqual([2, '']);
  });
});

describe('parley run', () => {
  test("downloads a model of Ollama's registry, answers the question and exits with 0; the second time nobody is asked", async () => {
    const layers = { model: readFileSync(embeddedModel), params: '{"num_ctx":1024}' };
    const registry = await openRegistry({ 'library/mini:46m': { layers } });
    onTestFinished(registry.close);
    process.env.PARLEY_OLLAMA_REGISTRY = registry.base;
    const ask = () =>
      runProgram(['run', 'mini:46m', '--admindir', folder, scripted('Hello', reply)], { command: fakeEngineCommand });
    expect(await ask()).toMatchObject({ code: 0, stdout: `${reply}\n`, stderr: expect.stringContaining('Saved: ') });
    const before = registry.asked.length;
    expect(await ask()).toMatchObject({ code: 0, stdout: `${reply}\n` });
    expect(registry.asked).toHaveLength(before);
  });

  test('a name that the registry does not have: exits with 3 and a sentence', async () => {
    const registry = await openRegistry({});
    onTestFinished(registry.close);
    process.env.PARLEY_OLLAMA_REGISTRY = registry.base;
    const { code, stderr } = await runProgram(['run', 'none:1b']);
    expect(code).toBe(3);
    expect(stderr).toMatch(/none:1b could not be downloaded: .* has no model none:1b/);
  });
});

describe('--cli', () => {
  test('--cli: chats until quit', async () => {
    const [first, second] = ['Hello!', 'Tell me a story.'].map((question) => scripted(question, reply));
    const input = `${first}\n/nonsense\n/undo\n/clear\n${second}\n/quit\n`;
    const { code, stdout, stderr } = await runProgram(['--cli'], { input, command: fakeEngineCommand });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.match(/Commands: /g)).toHaveLength(2);
    expect(stdout).not.toContain('<|im_start|>');
    expect(stdout.split(reply), 'two replies').toHaveLength(3);
  });

  test('--cli: exits at the end of its input', async () => {
    const { code, stderr } = await runProgram(['--cli', '--threads', '1'], { input: 'Hello!\n' });
    expect([code, stderr]).toEqual([0, '']);
  });
});

describe('--benchmark', () => {
  test('--benchmark FILE: prints the figures and appends a row', async () => {
    const table = join(folder, 'speed.csv');
    const flags = ['--benchmark', table, '--model', untrainedModel(), '--threads', '1', '--contextsize', '512'];
    const first = await runProgram(flags);
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(/Prompt: 412 tokens in [\d.]+s \([\d.]+T\/s\)/);
    expect(first.stdout).toMatch(/Generation: 100 tokens in/);
    await runProgram(flags);
    const rows = readFileSync(table, 'utf8').trimEnd().split('\n');
    expect(rows).toHaveLength(3);
    expect(rows[0]?.split(',').slice(0, 3)).toEqual(['Timestamp', 'Model', 'MaxCtx']);
    for (const row of rows.slice(1)) expect(row.split(',').slice(1, 4)).toEqual(['parley-mini', '512', '412']);
  });

  test('--benchmark: prints the figures without a file', async () => {
    const { code, stdout } = await runProgram([
      '--benchmark',
      '--model',
      untrainedModel(),
      '--threads',
      '1',
      '--contextsize',
      '256',
    ]);
    expect(code).toBe(0);
    expect(stdout).toContain('MaxCtx: 256');
  });
});

describe('modes without a model', () => {
  test('--version and --help', async () => {
    const version = await runProgram(['--version']);
    expect(version).toMatchObject({ code: 0, stderr: '' });
    expect(version.stdout.split('\n')[0]).toBe(packageFacts.version);
    expect(version.stdout).toMatch(/^text: @node-llama-cpp\/\S+ \d/m);
    const { code, stdout } = await runProgram(['--help']);
    expect(code).toBe(0);
    for (const flag of ['--model', '--port', '--multiuser', '--password']) expect(stdout).toContain(flag);
  });

  test('--analyze: describes a model file, and reports a broken one', async () => {
    const { code, stdout } = await runProgram(['--analyze', embeddedModel]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/general\.architecture/);
    expect(stdout).toMatch(/token_embd\.weight/);
    expect((await runProgram(['--analyze', join(folder, 'nowhere.gguf')])).code).toBe(2);
    expect((await runProgram(['--analyze', new URL(import.meta.url).pathname])).code).toBe(3);
  });

  test('--exportconfig: writes a file that --config reads', async () => {
    const path = join(folder, 'mine.kcpps');
    const flags = ['--genlimit', '5', '--contextsize', '512', '--defaultgenamt', '64'];
    expect((await runProgram([...flags, '--exportconfig', path])).code).toBe(0);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ genlimit: 5, contextsize: 512 });
    const server = await startServer(['--config', path]);
    const client = nativeClient(server.base);
    expect((await client.generate({ prompt: 'Once', max_length: 50 })).completion_tokens).toBe(5);
    expect((await client.get('/api/extra/true_max_context_length')).json()).toEqual({ value: 512 });
    await server.stop();
    const again = join(folder, 'again.kcpps');
    await runProgram(['--config', path, '--exportconfig', again]);
    expect(JSON.parse(readFileSync(again, 'utf8'))).toEqual(JSON.parse(readFileSync(path, 'utf8')));
  });
});

describe('--singleinstance', () => {
  test('--singleinstance: a new instance replaces the old one', async () => {
    const older = await startServer(['--nomodel', '--singleinstance']);
    const newer = await startServer(['--nomodel', '--singleinstance'], { port: older.port });
    expect(newer.port).toBe(older.port);
    await newer.says('Another instance made room for this one.');
    expect((await nativeClient(newer.base).get('/ping')).status).toBe(200);
    await older.stop();
    await newer.stop();
  });

  test('--singleinstance: replaces an instance with another password', async () => {
    const older = await startServer(['--nomodel', '--singleinstance', '--password', 'first-password']);
    const newer = await startServer(['--nomodel', '--singleinstance', '--password', 'second-password'], {
      port: older.port,
    });
    await newer.says('Another instance made room for this one.');
    await older.says('Stopping: another instance takes over.');
    await older.stop();
    await newer.stop();
  });

  test('without --singleinstance: a used port ends the start with a message', async () => {
    const server = await startServer(['--nomodel']);
    const { code, stderr } = await runProgram(['--nomodel', '--port', String(server.port)]);
    expect(code).not.toBe(0);
    expect(stderr).toContain(String(server.port));
    expect((await nativeClient(server.base).post('/api/extra/shutdown')).json()).toEqual({ success: false });
    await server.stop();
  });
});
