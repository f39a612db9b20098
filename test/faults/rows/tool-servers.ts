import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { nativeClient } from '../../live/client.ts';
import type { StartServer } from '../../live/server.ts';
import { weatherQuestion } from '../../sdk/questions.ts';
import { type Fault, faultGroup } from '../fault.ts';
import { childrenOf } from '../processes.ts';
import { newFolder, type StoringSubject, storingSubject } from '../subject.ts';
import { type Misbehaviour, misbehaviours, redirectTo, startUpstream, type Upstream } from '../upstream.ts';

const program = fileURLToPath(new URL('../tool-program.mjs', import.meta.url));

interface Setting extends StoringSubject {
  /** A tool server over HTTP, with the tool `web`. */
  readonly web: Upstream;
  readonly trap: Upstream;
  close(): Promise<void>;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly protocolVersion?: string };
}

const webServer = () =>
  startUpstream(({ method }, body, response) => {
    if (method !== 'POST') return void response.writeHead(405).end();
    const { id, method: asked, params } = JSON.parse(body) as Message;
    if (id === undefined) return void response.writeHead(202).end();
    const results: Readonly<Record<string, object>> = {
      initialize: {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'web', version: '1' },
      },
      'tools/list': { tools: [{ name: 'web', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'fine' }] },
    };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[asked ?? ''] ?? {} }));
  });

async function call({ server }: StoringSubject, name: string): Promise<{ text: string; error: string | undefined }> {
  const answer = await nativeClient(server.base).post('/mcp', {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: {} },
  });
  const { error } = answer.json() as { error?: { message: string } };
  return { text: answer.text, error: error?.message };
}

async function opened(start: StartServer): Promise<Setting> {
  const [web, trap] = await Promise.all([
    webServer(),
    startUpstream((_request, _body, response) => void response.end('secrets')),
  ]);
  const file = join(newFolder(), 'mcp.json');
  const mcpServers = { program: { command: process.execPath, args: [program] }, web: { url: `${web.url}/mcp` } };
  writeFileSync(file, JSON.stringify({ mcpServers }));
  const flags = ['--mcpfile', file, '--mcptimeout', '2', '--mcpserverloop', '2', '--jinjatools'];
  const subject = await storingSubject(start, { flags });
  await subject.server.says('MCP Server program: 8 tools.');
  await subject.server.says('MCP Server web: 1 tool.');
  return {
    ...subject,
    web,
    trap,
    serves: async () => {
      for (const name of ['good', 'web']) {
        const { text } = await call(subject, name);
        if (!text.includes('fine')) throw new Error(text);
      }
    },
    close: async () => {
      await Promise.all([web.close(), trap.close()]);
    },
  };
}

const programFault = (what: string, tool: string, message: RegExp, short = false): Fault<Setting> => ({
  name: `a program that ${what}`,
  kind: 'tools',
  ...(short ? { short } : {}),
  inject: async (setting) => {
    expect((await call(setting, tool)).error).toMatch(message);
  },
});

const programs: readonly Fault<Setting>[] = [
  programFault('dies during a call', 'die', /was lost in the middle of this call \(its program ended/, true),
  programFault('never answers', 'hang', /timed out/),
  programFault('writes what is no JSON and no answer', 'garbage', /timed out/),
  programFault('dies in the middle of its answer', 'half', /was lost in the middle of this call/),
  programFault('writes one endless line', 'flood', /more than 10 MB/),
  {
    name: 'a program that floods its error output',
    kind: 'tools',
    inject: async (setting) => {
      expect((await call(setting, 'errors')).text).toContain('fine');
    },
  },
  {
    name: 'a program that is stopped (SIGSTOP)',
    kind: 'tools',
    inject: async (setting) => {
      const [pid = 0] = childrenOf(setting.server.pid, program);
      process.kill(pid, 'SIGSTOP');
      expect((await call(setting, 'good')).error).toMatch(/\w{4}/);
      process.kill(pid, 'SIGCONT');
    },
  },
  {
    name: 'a program that is killed while idle',
    kind: 'tools',
    inject: async (setting) => {
      const [pid = 0] = childrenOf(setting.server.pid, program);
      process.kill(pid, 'SIGKILL');
    },
  },
  {
    name: 'a program that dies during a chat: the chat goes on',
    kind: 'tools',
    inject: async ({ server }) => {
      const { status, text } = await nativeClient(server.base).post('/v1/chat/completions', {
        messages: [{ role: 'user', content: weatherQuestion }],
        temperature: 0,
        max_tokens: 200,
      });
      expect(status, text).toBe(200);
      expect(text).toMatch(/Calling the tool get_weather/);
      expect(text).toMatch(/was lost in the middle of this call/);
    },
  },
];

const isCall = ({ method }: { readonly method?: string | undefined }) => method === 'POST';

const webFault = (what: string, how: Misbehaviour, message: RegExp): Fault<Setting> => ({
  name: `an address that ${what}`,
  kind: 'tools',
  inject: async (setting) => {
    setting.web.misbehave(how, isCall);
    expect((await call(setting, 'web')).error).toMatch(message);
    setting.web.misbehave();
  },
});

const anyReason = /web .*\w{4}|\w{4}.* web/;

const addresses: readonly Fault<Setting>[] = [
  webFault('never answers', misbehaviours.hang, anyReason),
  webFault('hangs after the head', misbehaviours['hang after the head'], anyReason),
  webFault('closes the connection', misbehaviours['close at once'], anyReason),
  webFault('resets the connection', misbehaviours['reset at once'], anyReason),
  webFault('closes after the head', misbehaviours['close after the head'], anyReason),
  webFault('is no HTTP server', misbehaviours.garbage, anyReason),
  webFault('sends endless headers', misbehaviours['endless headers'], anyReason),
  webFault('sends one endless event', misbehaviours['one endless event'], anyReason),
  webFault('sends an endless body', misbehaviours['an endless body'], anyReason),
  webFault('sends invalid JSON', misbehaviours['invalid JSON'], anyReason),
  webFault('sends a web page', misbehaviours['a web page'], anyReason),
  webFault('answers with status 500', misbehaviours['status 500 with a page'], anyReason),
  {
    name: 'an address that refuses connections',
    kind: 'tools',
    inject: async (setting) => {
      await setting.web.close();
      expect((await call(setting, 'web')).error).toMatch(anyReason);
      await setting.web.open();
    },
  },
  {
    name: 'an address that redirects into this machine',
    kind: 'tools',
    inject: async (setting) => {
      for (const url of [`${setting.trap.url}/secrets`, 'http://169.254.169.254/latest/meta-data/']) {
        setting.web.misbehave(redirectTo(url));
        const { error, text } = await call(setting, 'web');
        expect(error).toMatch(anyReason);
        expect(text).not.toContain('secrets of');
      }
      expect(setting.trap.requests()).toBe(0);
      setting.web.misbehave();
    },
  },
];

export const toolServers = (start: StartServer) =>
  faultGroup<Setting>({ name: 'tool servers', open: () => opened(start), rows: [...programs, ...addresses] });
