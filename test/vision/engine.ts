import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import { defaultSettings, type Settings } from '../../src/config/flags.ts';
import type { AppError } from '../../src/core/errors.ts';
import type { GenerationEvent } from '../../src/core/events.ts';
import type { GenerationRequest } from '../../src/core/request.ts';
import { plainRequest } from '../../src/core/testing/plain-request.ts';
import { systemTimer } from '../../src/core/timers.ts';
import { spawnChild } from '../../src/engines/host/child.ts';
import { LlamaHost } from '../../src/engines/llama/host.ts';
import { loadOptions, readModelFile } from '../../src/engines/llama/load-options.ts';
import { program } from '../live/server.ts';

export interface Reply {
  readonly text: string;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly cause: string | undefined;
  readonly warnings: readonly string[];
  readonly error: AppError | undefined;
}

export interface Engine {
  readonly host: LlamaHost;
  /** Greedy, and short unless asked otherwise. */
  ask(prompt: string, more?: Partial<GenerationRequest>): Promise<Reply>;
  begin(prompt: string, more?: Partial<GenerationRequest>): { readonly reply: Promise<Reply>; abort(): void };
}

/** Engines in worker processes of their own, ended with the test file. */
export function engines() {
  const hosts: LlamaHost[] = [];
  afterAll(async () => {
    await Promise.all(hosts.map((host) => host.stop()));
  });
  return async (model: string, settings: Partial<Settings> = {}): Promise<Engine> => {
    const { shape } = await readModelFile(model);
    const chosen = { ...defaultSettings, usecpu: true, contextsize: 1024, ...settings };
    const host = new LlamaHost(
      loadOptions(chosen, { model, name: 'model', shape, threads: 1, contextSizeGiven: true }),
      {
        spawn: spawnChild,
        entry: join(dirname(program), 'engines/llama/worker/main.js'),
        startTimer: systemTimer,
      },
    );
    hosts.push(host);
    host.start();
    await host.settled();
    const begin: Engine['begin'] = (prompt, more = {}) => {
      const plain = plainRequest(prompt, 12);
      const request = { ...plain, sampling: { ...plain.sampling, temperature: 0 }, ...more };
      const events: GenerationEvent[] = [];
      let abort = () => {};
      const reply = new Promise<Reply>((resolve) => {
        const running = host.generate(request, 1, {
          event: (event) => {
            events.push(event);
            if (event.type === 'finish' || event.type === 'error') resolve(fold(events));
          },
        });
        abort = () => running.abort();
      });
      return { reply, abort };
    };
    return { host, begin, ask: (prompt, more) => begin(prompt, more).reply };
  };
}

function fold(events: readonly GenerationEvent[]): Reply {
  const of = <Type extends GenerationEvent['type']>(type: Type) =>
    events.filter((event): event is GenerationEvent & { type: Type } => event.type === type);
  const [start] = of('start');
  return {
    text: of('text-delta')
      .map(({ text }) => text)
      .join(''),
    promptTokens: start?.promptTokens ?? 0,
    cachedTokens: start?.cachedTokens ?? 0,
    cause: of('finish')[0]?.cause,
    warnings: of('warning').map(({ code }) => code),
    error: of('error')[0]?.error,
  };
}
