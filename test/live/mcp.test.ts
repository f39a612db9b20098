import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { childrenOf } from '../../bench/process-figures.ts';
import { callByTemplate, scripted, toolTemplateFlags } from '../load/scripted.ts';
import { fakeEngineCommand } from '../load/servers.ts';
import { anthropicClient, ollamaClient, openaiClient } from '../sdk/clients.ts';
import { weather, weatherQuestion } from '../sdk/questions.ts';
import { isAlive } from './alive.ts';
import { nativeClient } from './client.ts';
import { freePort } from './free-port.ts';
import { runProgram } from './program.ts';
import { embeddedModel, type LiveServer, liveServers } from './server.ts';

const startServer = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-mcp-'));
const everything = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
);
const smallServer = fileURLToPath(new URL('../../src/mcp/testing/small-server.mjs', import.meta.url));

const file = (name: string, mcpServers: object): string => {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify({ mcpServers }));
  return path;
};

let web: ChildProcess | undefined;
const startWeb = (port: number): void => {
  web = spawn(process.execPath, [everything, 'streamableHttp'], { env: { PORT: String(port) }, stdio: 'ignore' });
};
afterAll(() => {
  web?.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** The programs that a server has started for its tools. */
function toolPrograms({ pid }: Pick<LiveServer, 'pid'>, script: string): number[] {
  return childrenOf(pid).filter((one) => {
    try {
      return isAlive(one) && readFileSync(`/proc/${one}/cmdline`, 'utf8').includes(script);
    } catch {
      return false;
    }
  });
}

async function processEnd(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setImmediate(resolve));
}

describe('real MCP servers over stdio and HTTP', () => {
  let live: LiveServer;
  let port = 0;
  const client = new Client({ name: 'test', version: '1' });
  const call = (name: string, args: object = {}) => client.callTool({ name, arguments: { ...args } });
  const long = { duration: 60, steps: 120 };
  const sum = { content: [{ type: 'text', text: 'The sum of 2 and 3 is 5.' }] };

  beforeAll(async () => {
    port = await freePort();
    startWeb(port);
    const command = { command: process.execPath, args: [everything, 'stdio'] };
    const stubborn = { command: process.execPath, args: [smallServer, 'nothing', 'stubborn'] };
    const path = file('both.json', { everything: command, web: { url: `http://127.0.0.1:${port}/mcp` }, stubborn });
    copyFileSync(embeddedModel, join(folder, 'other.gguf'));
    live = await startServer(['--mcpfile', path.replace('.json', ''), '--admin', '--admindir', folder]);
    await live.says('MCP Server everything: 13 tools.');
    await live.says('MCP Server web: 13 tools.');
    await client.connect(new StreamableHTTPClientTransport(new URL(`${live.base}/mcp`)));
  });
  afterAll(() => client.close());

  test('official client: lists every tool under a unique name', async () => {
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    // Three of them search documents.
    expect(names).toHaveLength(29);
    expect(new Set(names).size).toBe(29);
    expect(names).toEqual(expect.arrayContaining(['get-sum', 'web_get-sum']));
    expect(await call('get-sum', { a: 2, b: 3 })).toEqual(sum);
    expect(await call('web_get-sum', { a: 2, b: 3 })).toEqual(sum);
    expect((await nativeClient(live.base).get('/api/extra/version')).json()).toMatchObject({ mcp: true });
  });

  test.each(['', 'web_'])('forward progress notifications (%s)', async (prefix) => {
    const steps: number[] = [];
    const name = `${prefix}trigger-long-running-operation`;
    const params = { name, arguments: { duration: 0.4, steps: 2 } };
    await client.callTool(params, { onprogress: ({ progress }) => steps.push(progress) });
    expect(steps).toContain(1);
  });

  test('killed program: its call fails with a clear error, and it is restarted', async () => {
    const running = call('trigger-long-running-operation', long);
    const failure = expect(running).rejects.toThrow(
      /everything was lost in the middle of this call \(its program ended/,
    );
    await call('echo', { message: 'it runs' });
    const [program = 0] = toolPrograms(live, everything);
    process.kill(program, 'SIGKILL');
    await failure;
    // Calls are refused until it is back.
    await expect.poll(() => call('get-sum', { a: 2, b: 3 }).catch(() => undefined)).toEqual(sum);
    expect(toolPrograms(live, everything)).not.toContain(program);
  });

  test('lost URL: its call fails with a clear error, and it is reconnected', async () => {
    const running = call('web_trigger-long-running-operation', long);
    const failure = expect(running).rejects.toThrow(/web was lost in the middle of this call/);
    await call('web_echo', { message: 'it runs' });
    web?.kill('SIGKILL');
    await failure;
    startWeb(port);
    await expect.poll(() => call('web_get-sum', { a: 2, b: 3 }).catch(() => undefined)).toEqual(sum);
  });

  test('survive a model swap', async () => {
    const before = toolPrograms(live, everything);
    expect((await nativeClient(live.base).post('/api/admin/reload_config', { filename: 'other.gguf' })).json()).toEqual(
      {
        success: true,
      },
    );
    await live.says('Serving other now.');
    expect(await call('get-sum', { a: 2, b: 3 })).toEqual(sum);
    expect(toolPrograms(live, everything)).toEqual(before);
  });

  test('end with the server, also if it is killed', async () => {
    // One of them exits when its input closes; the other ignores even a signal.
    const programs = [...toolPrograms(live, everything), ...toolPrograms(live, smallServer)];
    expect(programs).toHaveLength(2);
    process.kill(live.pid, 'SIGKILL');
    await Promise.all(programs.map(processEnd));
  });
});

describe('--mcpserverloop', () => {
  let live: LiveServer;
  beforeAll(async () => {
    const path = file('weather.json', {
      small: { command: process.execPath, args: [smallServer, 'get_weather,get_time'] },
    });
    const flags = ['--mcpfile', path, '--mcpserverloop', '2', '--jinjatools', ...toolTemplateFlags()];
    live = await startServer(flags, { command: fakeEngineCommand });
    await live.says('MCP Server small: 2 tools.');
  });

  const answer = 'It is 21 degrees in Paris.';
  const ask = () => scripted(weatherQuestion, ...callByTemplate('get_weather', { city: 'Paris' }), answer);
  const question = () => ({ role: 'user' as const, content: ask() });
  const greedy = { model: 'any', temperature: 0 };
  const report = /Calling the tool get_weather .*Paris[\s\S]*21/;

  test('Chat Completions, whole and streamed', async () => {
    const openai = openaiClient(live.base);
    const whole = await openai.chat.completions.create({ ...greedy, messages: [question()] });
    const { message, finish_reason: reason } = whole.choices[0] ?? {};
    expect(message?.content).toBe(answer);
    expect([reason, message?.tool_calls]).toEqual(['stop', undefined]);
    expect((message as { reasoning_content?: string }).reasoning_content).toMatch(report);
    const stream = openai.chat.completions.stream({ ...greedy, messages: [question()] });
    expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe(answer);
  });

  test('tools of the request are returned as calls', async () => {
    const tools = [{ type: 'function' as const, function: weather }];
    const reply = await openaiClient(live.base).chat.completions.create({ ...greedy, messages: [question()], tools });
    expect(reply.choices[0]).toMatchObject({ finish_reason: 'tool_calls' });
  });

  test('Responses', async () => {
    const reply = await openaiClient(live.base).responses.create({ ...greedy, input: ask() });
    expect(reply.output_text).toBe(answer);
    expect(JSON.stringify(reply.output)).toMatch(/Calling the tool get_weather/);
    expect(reply.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
  });

  test('Messages, streamed', async () => {
    const stream = anthropicClient(live.base).messages.stream({ ...greedy, max_tokens: 200, messages: [question()] });
    const { content, stop_reason: reason } = await stream.finalMessage();
    expect(reason).toBe('end_turn');
    expect(content.map(({ type }) => type)).toEqual(['thinking', 'text']);
    expect(content[0]).toMatchObject({ thinking: expect.stringMatching(report) });
    expect(content[1]).toMatchObject({ text: answer });
  });

  test('Ollama, streamed', async () => {
    const chat = { model: 'any', messages: [question()], options: { temperature: 0 }, stream: true as const };
    let [text, thinking] = ['', ''];
    for await (const { message } of await ollamaClient(live.base).chat(chat)) {
      text += message.content;
      thinking += message.thinking ?? '';
      expect(message.tool_calls).toBeUndefined();
    }
    expect(text).toBe(answer);
    expect(thinking).toMatch(report);
  });

  test('running tool: other requests use the model, and an abort by key ends it', async () => {
    const content = scripted('What time is it in Paris?', ...callByTemplate('get_time', { city: 'Paris' }));
    const fields = {
      ...greedy,
      messages: [{ role: 'user' as const, content }],
      stream: true as const,
      genkey: 'KCPP1',
    };
    const stream = await openaiClient(live.base).chat.completions.create(fields);
    const chunks = stream[Symbol.asyncIterator]();
    let thinking = '';
    while (!thinking.includes('Calling the tool get_time')) {
      const { value, done } = await chunks.next();
      if (done) throw new Error(`no call: ${thinking}`);
      const delta = value.choices[0]?.delta as { reasoning_content?: string } | undefined;
      thinking += delta?.reasoning_content ?? '';
    }
    const native = nativeClient(live.base);
    expect((await native.generate({ prompt: 'Once', max_length: 3 })).text).not.toBe('');
    expect((await native.post('/api/extra/abort', { genkey: 'KCPP1' })).json()).toMatchObject({ success: 'true' });
    let reason: string | null | undefined;
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
      reason = next.value.choices[0]?.finish_reason ?? reason;
    }
    expect(reason).toBe('length');
  });

  test('running tool: ends with the server', async () => {
    const [program = 0] = toolPrograms(live, smallServer);
    await live.stop();
    await processEnd(program);
  });
});

test('MCP: a hostile tool server with 100000 tools and endless results does not harm chats', async () => {
  const hostile = fileURLToPath(new URL('../../src/mcp/testing/hostile-server.mjs', import.meta.url));
  const program = (mode: string) => ({ command: process.execPath, args: [hostile, mode] });
  const path = file('hostile.json', { many: program('many'), plain: program('plain') });
  const live = await startServer(['--mcpfile', path, '--mcpserverloop', '2', '--jinjatools', '--contextsize', '1024']);
  await live.says('MCP Server many: 1000 tools.');
  await live.says('MCP Server plain: 18 tools.');
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  const reply = await openaiClient(live.base).chat.completions.create({ model: 'any', messages, max_tokens: 20 });
  expect(reply.choices[0]?.message.content).toBeTypeOf('string');
  expect(JSON.stringify(reply)).toMatch(/of 1018 tools do not fit into the context/);
  const call = (name: string) =>
    nativeClient(live.base).post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } });
  expect((await call('endless')).json()).toMatchObject({
    error: { message: expect.stringContaining('it sent a message of more than 10 MB') },
  });
  expect((await call('good')).json()).toMatchObject({ result: { content: [{ text: 'fine' }] } });
  await live.stop();
});

test('MCP: a program that never answers initialize ends with the server, with all that it has started', async () => {
  // Both ignore that their input has closed; the inner one ignores a signal, too.
  const inner = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
  const outer = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(inner)}]); setInterval(() => {}, 1000)`;
  const path = file('silent.json', { silent: { command: process.execPath, args: ['-e', outer] } });
  const live = await startServer(['--mcpfile', path]);
  await expect.poll(() => toolPrograms(live, 'setInterval')).toHaveLength(1);
  const [program = 0] = toolPrograms(live, 'setInterval');
  await expect.poll(() => toolPrograms({ pid: program }, 'setInterval')).toHaveLength(1);
  const [child = 0] = toolPrograms({ pid: program }, 'setInterval');
  await live.stop();
  await Promise.all([program, child].map(processEnd));
});

test('--mcpfile: an invalid file ends the start with the reason', async () => {
  const { code, stderr } = await runProgram(['--mcpfile', file('wrong.json', { a: { args: [] } }), '--port', '0']);
  expect(code).toBe(2);
  expect(stderr).toContain('wrong.json cannot be used: mcpServers.a must have a command or a url.');
});
