import type { Call } from '../../../http/call.ts';
import { handTimer } from '../../../http/testing/world.ts';
import type { LiveSocket } from '../../../http/web-socket.ts';
import type { ImageContext } from '../../images/request.ts';
import { asked } from '../../testing/asked.ts';
import { bindAll } from '../../testing/bind.ts';
import { type FakeImage, fakeImage, pictureParts } from '../../testing/pictures.ts';
import { ComfyQueue } from '../queue.ts';
import { comfyEndpoints } from '../routes.ts';

export interface Heard {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came.
  readonly data: any;
}

/** A connected client, with everything that it received, in order. */
export interface Listener {
  readonly heard: Heard[];
  readonly pictures: Buffer[];
  readonly closed: () => boolean;
  say(message: string | Buffer): void;
  leave(): void;
}

/** The endpoints with a fake image model and a manual timer. */
export function comfyWorld(fake: FakeImage | undefined | null = fakeImage(), own: Partial<ImageContext> = {}) {
  const timer = handTimer();
  let ids = 0;
  const newId = (): string => {
    ids += 1;
    return `id-${ids}`;
  };
  const prompts = new ComfyQueue({ now: () => 1_700_000_000_000, newId, startTimer: timer.startTimer });
  const parts = { ...pictureParts(fake ?? undefined, { startTimer: timer.startTimer, ...own }), prompts };
  const rows = comfyEndpoints(parts);
  const endpoints = bindAll(rows, parts);
  const get = (target: string) => asked(endpoints, 'GET', target);
  const post = (target: string, body: unknown = '', call: Partial<Call> = {}) =>
    asked(endpoints, 'POST', target, body, call);

  function listen(client: string): Listener {
    const heard: Heard[] = [];
    const pictures: Buffer[] = [];
    const ended = new AbortController();
    const listeners: Parameters<LiveSocket['onMessage']>[0][] = [];
    const send = (message: string | Uint8Array): void =>
      void (typeof message === 'string' ? heard.push(JSON.parse(message)) : pictures.push(Buffer.from(message)));
    const socket: LiveSocket = {
      send,
      sendOrDrop: send,
      written: () => Promise.resolve(),
      close: () => ended.abort(),
      onMessage: (listener) => void listeners.push(listener),
      signal: ended.signal,
    };
    prompts.hub.open({ query: new URLSearchParams(client === '' ? {} : { clientId: client }) }, socket);
    const say = (message: string | Buffer): void => {
      for (const listener of listeners) void listener(message);
    };
    return { heard, pictures, say, closed: () => ended.signal.aborted, leave: () => ended.abort() };
  }

  /** Runs all prompts. */
  async function drawAll(): Promise<void> {
    timer.pass(100);
    while (prompts.remaining > 0) await new Promise((resolve) => setImmediate(resolve));
  }

  return { fake, prompts, timer, rows, endpoints, get, post, listen, drawAll };
}
