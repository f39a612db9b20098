import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defaultSettings, type Settings } from '../config/flags.ts';
import { AppError } from '../core/errors.ts';
import type { TextState } from '../core/text-service.ts';
import type { ModelFile } from '../engines/llama/load-options.ts';
import { embeddedModel } from '../models/text-engine.ts';
import { Terminal } from '../observe/terminal.ts';
import type { App } from './app.ts';
import { openChannel, stopInstance } from './instance-channel.ts';
import { type Serving, serve } from './serve.ts';
import { ownChannel } from './testing/own-channel.ts';
import { fakeService } from './testing/service.ts';

function world(
  changes: Partial<Settings>,
  {
    failures = [],
    state,
    configuredModels = [],
    file,
    taskModels = {},
    opensPage = false,
    stopped = false,
    onTerminal,
    isAlive,
    channel,
  }: {
    failures?: Error[];
    state?: TextState;
    configuredModels?: Serving['configuredModels'];
    file?: string;
    taskModels?: Serving['runtime']['model']['taskModels'];
    opensPage?: boolean;
    /** Stopped while the model loads. */
    stopped?: boolean;
    onTerminal?: (made: Terminal) => void;
    isAlive?: (pid: number) => boolean;
    channel?: string;
  } = {},
) {
  const { engine } = fakeService(() => ({ pieces: [] }));
  if (state) engine.become(state);
  const happened: string[] = [];
  let written = '';
  const server: App['server'] = {
    listen: async () => {
      const failure = failures.shift();
      happened.push(failure ? 'port taken' : 'listening');
      if (failure) throw failure;
      return { port: 5001, addresses: ['127.0.0.1'] };
    },
    setCertificate: () => undefined,
    running: 0,
    drain: async () => undefined,
    close: async () => void happened.push('closed'),
  };
  const terminal = new Terminal({ interactive: false, columns: 80, write: (text) => (written += text) });
  onTerminal?.(terminal);
  const running = serve({
    runtime: {
      app: { server } as App,
      engine: {
        state: engine.state,
        start: async () => {
          happened.push('engine started');
          if (!stopped) await engine.settled();
        },
      },
      model: { taskModels, file: file === undefined ? undefined : ({ path: file } as ModelFile) },
      preload: () => undefined,
      exit: async (code) => void happened.push(`exit ${code}`),
      stop: (why) => void happened.push(`stopped: ${why}`),
    },
    configuredModels,
    settings: { ...defaultSettings, ...changes },
    terminal,
    opensPage,
    open: (url, failed) => {
      happened.push(`opened ${url}`);
      failed();
    },
    channel: channel ?? ownChannel(),
    wait: async (milliseconds) => void happened.push(`waited ${milliseconds}`),
    ...(isAlive && { isAlive }),
  });
  return { running, happened, written: () => written };
}

describe('serve', () => {
  test('opens its port, then loads the model, then prints the ready line', async () => {
    const { running, happened, written } = world({});
    await running;
    expect(happened).toEqual(['listening', 'engine started']);
    expect(written()).toMatch(/^Listening on http:\/\/localhost:5001\n[\s\S]*Please connect to custom endpoint at/);
    expect(written()).toContain('Ready: text.');
  });

  test.each<[string, Partial<Settings>, boolean, boolean]>([
    ['--launch', { launch: true }, false, true],
    ['a start by a person at a display', {}, true, true],
    ['any other start', {}, false, false],
  ])('page: %s', async (_, settings, opensPage, opened) => {
    const { running, happened, written } = world(settings, { opensPage });
    await running;
    expect(happened.includes('opened http://localhost:5001')).toBe(opened);
    expect(written().includes('No browser could be started; open http://localhost:5001 yourself.')).toBe(opened);
  });

  test.each([
    ['the built-in one', embeddedModel, true],
    ['another one', '/models/large.gguf', false],
    ['none', undefined, false],
  ])('the hint about bigger models with the text model: %s', async (_, file, expected) => {
    const { running, written } = world({}, file === undefined ? {} : { file });
    await running;
    expect(written().includes('For a larger model: ')).toBe(expected);
  });

  test('exits if a model of the command line cannot be loaded', async () => {
    const load = () => Promise.reject(new AppError('model-load-failed', { model: 'dream', reason: 'damaged' }));
    const { running, happened, written } = world({}, { configuredModels: [{ name: 'dream', kind: 'image', load }] });
    await running;
    expect(happened).toEqual(['listening', 'engine started', 'closed', 'exit 3']);
    expect(written()).toContain('dream could not be loaded: damaged');
  });

  test('does not repeat a load failure that the engine has logged', async () => {
    const error = new AppError('model-load-failed', { model: 'dream', reason: 'damaged' });
    let terminal: Terminal | undefined;
    const load = () => {
      terminal?.line('The voice dream could not be loaded: damaged');
      return Promise.reject(error);
    };
    const told = world(
      {},
      { configuredModels: [{ name: 'dream', kind: 'speech', load }], onTerminal: (made) => (terminal = made) },
    );
    await told.running;
    expect(told.written().split('dream could not be loaded')).toHaveLength(2);
  });

  test('continues without an optional model, and logs the reason', async () => {
    const loaded: string[] = [];
    const configuredModels = [
      { name: 'far', kind: 'image', optional: true, load: () => Promise.reject(new Error('away')) },
      { name: 'near', kind: 'music', load: async () => void loaded.push('near') },
    ];
    const taskModels = { image: {}, music: {} } as Serving['runtime']['model']['taskModels'];
    const { running, happened, written } = world({}, { configuredModels, taskModels });
    await running;
    expect([happened, loaded]).toEqual([['listening', 'engine started'], ['near']]);
    expect(written()).toMatch(/far could not be loaded: Error: away\nReady: text, music\. [\s\S]*Please connect/);
  });

  test('prints https with TLS', async () => {
    const { running, written } = world({ ssl: ['cert.pem', 'key.pem'] });
    await running;
    expect(written()).toContain('Listening on https://localhost:5001');
  });

  test('without a model: is ready, and reports the missing model', async () => {
    const { running, written } = world({}, { state: { type: 'none' } });
    await running;
    expect(written()).toContain('Ready: no model.');
  });

  test('stopped during the load: does not print the ready line', async () => {
    const state: TextState = { type: 'loading', name: 'm', progress: 0, asleep: true };
    const { running, written } = world({}, { state, stopped: true });
    await running;
    expect(written()).not.toContain('Ready');
  });

  test('autoswap: is ready at once, and the first request loads the model', async () => {
    const state: TextState = { type: 'loading', name: 'm', progress: 0, asleep: true };
    const { running, happened, written } = world({ autoswapmode: true }, { state });
    await running;
    expect(happened).toEqual(['listening']);
    expect(written()).toContain('Ready: text.');
    expect(written()).toContain('Please connect to custom endpoint');
  });

  test('autoswap without a model: reports the missing model', async () => {
    const { running, written } = world({ autoswapmode: true }, { state: { type: 'none' } });
    await running;
    expect(written()).toContain('Ready: no model.');
  });

  test('failed load: closes the port and exits with code 3, without the ready line', async () => {
    const { running, happened, written } = world({}, { state: { type: 'failed', name: 'm', reason: 'no memory' } });
    await running;
    expect(happened).toEqual(['listening', 'engine started', 'closed', 'exit 3']);
    expect(written()).not.toContain('Please connect');
  });
});

describe('serve: port in use', () => {
  const taken = () => new Error('Port 5001 is taken.');

  test('rejects the start with a sentence, and loads nothing', async () => {
    const { running, happened } = world({}, { failures: [taken()] });
    await expect(running).rejects.toThrow('Port 5001 is taken.');
    expect(happened).toEqual(['port taken']);
  });

  /** Another program on a port, which answers every request with this. */
  async function other(answer: unknown): Promise<{ port: number; seen: string[] }> {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`.trim());
      response.end(JSON.stringify(answer));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return { port: (server.address() as AddressInfo).port, seen };
  }

  test('--singleinstance: stops the other instance of this account without a request to the port', async () => {
    const { port, seen } = await other({ success: true });
    const channel = ownChannel();
    let stopped = false;
    const older = await openChannel(channel, () => (stopped = true));
    onTestFinished(() => void older.close());
    const isAlive = (): boolean => !stopped;
    const { running, happened, written } = world(
      { singleinstance: true, port, password: 'secret' },
      { failures: [taken()], channel, isAlive },
    );
    await running;
    expect(seen).toEqual([]);
    expect(happened).toEqual(['port taken', 'listening', 'engine started']);
    expect(written()).toContain('Another instance made room for this one.');
  });

  test('--singleinstance: can be stopped by a newer instance of this account', async () => {
    const channel = ownChannel();
    const { running, happened } = world({ singleinstance: true }, { channel });
    await running;
    expect(await stopInstance(channel)).toBe(process.pid);
    expect(happened.at(-1)).toBe('stopped: another instance takes over');
  });

  test('--singleinstance with a password: sends nothing to another program on the port', async () => {
    const { port, seen } = await other({ success: true });
    const { running, written } = world({ singleinstance: true, port, password: 'secret' }, { failures: [taken()] });
    await expect(running).rejects.toThrow('Port 5001 is taken.');
    expect(seen).toEqual([]);
    expect(written()).toContain(
      `The program on port ${port} is not an instance of this account, so it is not asked to stop (--singleinstance).`,
    );
  });

  test('--singleinstance without a password: asks another program on the port to stop', async () => {
    const { port, seen } = await other({ success: true });
    const { running, happened } = world({ singleinstance: true, port }, { failures: [taken()] });
    await running;
    expect(seen).toEqual(['POST /api/extra/shutdown']);
    expect(happened).toEqual(['port taken', 'waited 2500', 'listening', 'engine started']);
  });

  test('--singleinstance: waits until the process of the other server is gone', async () => {
    const { port } = await other({ success: true, pid: 4711 });
    const looks: number[] = [];
    const isAlive = (pid: number): boolean => looks.push(pid) < 3;
    const { running, happened } = world({ singleinstance: true, port }, { failures: [taken()], isAlive });
    await running;
    expect(looks).toEqual([4711, 4711, 4711]);
    expect(happened).toEqual(['port taken', 'waited 2500', 'waited 250', 'waited 250', 'listening', 'engine started']);
  });

  test('--singleinstance: fails if the other server does not stop, or is another program', async () => {
    for (const answer of [{ success: false }, 'hello']) {
      const { port } = await other(answer);
      const { running } = world({ singleinstance: true, port }, { failures: [taken()] });
      await expect(running).rejects.toThrow('Port 5001 is taken.');
    }
  });
});
