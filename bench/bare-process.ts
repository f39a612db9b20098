import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LoadOptions } from '../src/engines/llama/load-options.ts';
import type { BareRun, FromBareLoop, ToBareLoop } from './bare-loop.ts';
import { ended } from './server-process.ts';

export interface BareProcess {
  readonly pid: number;
  run(prompt: string, tokens: number): Promise<BareRun>;
  stop(): Promise<void>;
}

/** Starts the bare loop with the options that the server gives to its worker. */
export async function startBareLoop(options: LoadOptions): Promise<BareProcess> {
  const { child, ask } = forkLoop<ToBareLoop, FromBareLoop>(new URL('bare-loop.js', import.meta.url));
  await ask({ type: 'load', options });
  return {
    pid: child.pid as number,
    run: async (prompt, tokens) => {
      const reply = await ask({ type: 'run', prompt, tokens });
      if (reply.type !== 'ran') throw new Error(`the bare loop answered ${reply.type}`);
      return reply;
    },
    stop: () => ended(child),
  };
}

/** A loop in a process of its own, which answers each message with one. */
export function forkLoop<Message extends object, Answer>(
  file: URL,
): { readonly child: ChildProcess; readonly ask: (message: Message) => Promise<Answer> } {
  const child = fork(fileURLToPath(file), [], {
    stdio: ['ignore', 'inherit', 'ignore', 'ipc'],
  });
  const ask = (message: Message): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const onExit = () => reject(new Error('the bare loop ended'));
      child.once('exit', onExit);
      child.once('message', (reply) => {
        child.off('exit', onExit);
        resolve(reply as Answer);
      });
      child.send(message);
    });
  return { child, ask };
}
