import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { nativeClient } from '../../live/client.ts';
import type { LiveServer, StartServer } from '../../live/server.ts';
import { type Fault, faultGroup, type Subject } from '../fault.ts';

const program = fileURLToPath(new URL('../../../src/engines/program/testing/fake-engine.mjs', import.meta.url));

/** Of the engine program: what its requests get. */
const faults: Readonly<Record<string, { readonly status: number; readonly says: string }>> = {
  'never-ready': { status: 503, says: 'it was not ready after 2 s' },
  'wrong-port': { status: 503, says: 'Does its command use ${port}?' },
  'dies-loading': { status: 503, says: 'it wrote: error: the model file is damaged' },
  'dies-streaming': { status: 500, says: 'stopped in the middle of this request' },
  'ignores-stop': { status: 200, says: 'word0' },
  prints: { status: 200, says: 'word0' },
  rubbish: { status: 502, says: 'The engine at rubbish broke off' },
  'takes-memory': { status: 500, says: 'stopped in the middle of this request' },
};

const engine = (name: string, args: readonly string[]): readonly string[] => {
  // Ends a program that takes all memory, as the system would at its own limit.
  const command = [process.execPath, '--max-old-space-size=64', program, '--port', '${port}', ...args];
  return ['--engine', JSON.stringify({ name, kind: 'text', command, timeout: '2s' })];
};

const chat = ({ base }: LiveServer, model: string) =>
  nativeClient(base).post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi' }] });

const rows: readonly Fault[] = Object.entries(faults).map(([name, { status, says }]) => ({
  name: `engine program: ${name}`,
  kind: 'text',
  short: name === 'dies-streaming',
  inject: async ({ server }) => {
    const reply = await chat(server, name);
    expect({ status: reply.status, text: reply.text }).toEqual({ status, text: expect.stringContaining(says) });
  },
}));

/** Programs as engines, each with one fault, beside one without. */
export const enginePrograms = (start: StartServer) =>
  faultGroup({
    name: 'engine programs',
    rows,
    open: async (): Promise<Subject> => {
      const others = Object.keys(faults).flatMap((name) => engine(name, ['--fault', name]));
      const server = await start([...engine('sound', []), ...others]);
      const serves = async (): Promise<void> => expect((await chat(server, 'sound')).status).toBe(200);
      return { server, serves, intact: serves };
    },
  });
