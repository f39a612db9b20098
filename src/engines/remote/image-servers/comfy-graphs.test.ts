import { describe, expect, test } from 'vitest';
import type { GraphEvent, GraphRequest } from '../../../core/image.ts';
import { comfyGraphs, type Listen } from './comfyui.ts';
import { type Asked, fakeConnection } from './testing/fake-connection.ts';

const never = new AbortController().signal;
const image = { filename: 'a.png', subfolder: 'x', type: 'output' };
const video = { filename: 'b.mp4', subfolder: '', type: 'temp' };
const outputs = { '9': { images: [image] }, '12': { gifs: [video], text: ['a caption'] } };

function world(more: Readonly<Record<string, (asked: Asked) => unknown>> = {}) {
  let tell: (event: string, data: unknown) => void = () => undefined;
  let show: (bytes: Uint8Array) => void = () => undefined;
  let closed = 0;
  const listen: Listen = (_, received, binary) => {
    [tell, show] = [received, binary ?? show];
    const close = (): void => {
      closed += 1;
    };
    return Object.assign(close, { opened: Promise.resolve() });
  };
  const fake = fakeConnection({
    '/prompt': () => ({ prompt_id: 'p' }),
    '/history/p': () => ({ p: { outputs, status: { messages: [] } } }),
    '/view': ({ path }) => Buffer.from(path),
    '/upload/image': () => ({ name: 'sent.png', subfolder: '' }),
    ...more,
  });
  const graphs = comfyGraphs(fake.connection, async () => undefined, listen);
  const events: GraphEvent[] = [];
  const run = (request: Partial<GraphRequest> = {}, signal = never) =>
    graphs.run({ graph: {}, extra: {}, file: () => undefined, ...request }, signal, (event) => events.push(event));
  return { ...fake, graphs, run, events, closed: () => closed, tell: () => tell, show: () => show };
}

describe('comfyGraphs.run', () => {
  test('sends the graph as it is, and fetches all files of its outputs before it reports them', async () => {
    const { run, events, bodies, closed } = world();
    const graph = { '9': { class_type: 'Anything', inputs: { value: 1, from: ['8', 0] }, _meta: { title: 't' } } };
    await run({ graph, extra: { extra_pnginfo: { workflow: {} } }, targets: ['9'] });
    expect(bodies('/prompt')).toEqual([
      {
        prompt: graph,
        client_id: expect.any(String),
        extra_data: { extra_pnginfo: { workflow: {} } },
        partial_execution_targets: ['9'],
      },
    ]);
    expect(events.map((event) => (event.type === 'event' ? event.name : event.type))).toEqual([
      ...['file', 'executed', 'file', 'executed', 'outputs'],
    ]);
    expect(events[0]).toMatchObject({
      file: { ...image, bytes: Buffer.from('/view?filename=a.png&subfolder=x&type=output') },
    });
    expect(events.at(-1)).toEqual({ type: 'outputs', outputs });
    expect(closed()).toBe(1);
  });

  test('forwards what the WebSocket tells, each output once and after its files', async () => {
    const own = world({
      '/prompt': () => {
        own.tell()('status', { status: {} });
        own.tell()('execution_start', {});
        own.tell()('executing', { node: '3' });
        own.tell()('progress', { value: 1, max: 2 });
        own.show()(Uint8Array.of(1));
        own.tell()('executed', { node: '9', output: outputs['9'] });
        own.tell()('executing', { node: null });
        return { prompt_id: 'p' };
      },
    });
    await own.run();
    expect(own.events.map((event) => (event.type === 'event' ? event.name : event.type))).toEqual([
      ...['preview', 'executing', 'progress', 'file', 'executed', 'file', 'executed', 'outputs'],
    ]);
    expect(own.asked.filter(({ path }) => path.startsWith('/view'))).toHaveLength(2);
  });

  test('sends the files of the client under names of their own, each once', async () => {
    const { run, bodies } = world();
    const asked: string[] = [];
    const file = (name: string) => {
      asked.push(name);
      return name === 'cat.png' ? Uint8Array.of(1) : undefined;
    };
    const load = { class_type: 'LoadImage', inputs: { image: 'cat.png' } };
    const text = { class_type: 'CLIPTextEncode', inputs: { text: 'a cat' } };
    await run({ graph: { '1': load, '2': load, '3': text }, file });
    const sent = { class_type: 'LoadImage', inputs: { image: 'sent.png' } };
    expect(bodies('/prompt')[0]).toMatchObject({ prompt: { '1': sent, '2': sent, '3': text } });
    expect(bodies('/upload/image')).toHaveLength(1);
    expect(asked).toEqual(['cat.png', 'a cat']);
  });

  test('an error of a node names it, and an interrupt is one', async () => {
    const failed = (...message: readonly unknown[]) => ({
      '/history/p': () => ({ p: { outputs: {}, status: { messages: [['execution_start', {}], message] } } }),
    });
    const error = { exception_message: 'out of memory.\n', node_id: '3', node_type: 'KSampler' };
    await expect(world(failed('execution_error', error)).run()).rejects.toThrow(
      'says: out of memory (node 3, KSampler)',
    );
    await expect(world(failed('execution_interrupted', {})).run()).rejects.toMatchObject({ code: 'stopped' });
    await expect(world({ '/prompt': () => ({}) }).run()).rejects.toThrow('did not take the graph');
  });

  test('a graph that the server has lost is an error', async () => {
    const own = world({ '/history/p': () => ({}), '/queue': () => ({ queue_running: [], queue_pending: [] }) });
    await expect(own.run()).rejects.toThrow('no longer has the graph');
  });

  test.each([
    ['p', true],
    ['of another client', false],
  ])('an abort interrupts only its own graph; %s runs: %s', async (running, interrupted) => {
    const stop = new AbortController();
    const own = world({
      '/history/p': () => {
        stop.abort(new Error('enough'));
        throw stop.signal.reason;
      },
      '/queue': () => ({ queue_running: [[0, running, {}, {}, []]], queue_pending: [] }),
    });
    await expect(own.run({}, stop.signal)).rejects.toThrow('enough');
    await new Promise((resolve) => setImmediate(resolve));
    expect(own.bodies('/queue')[0]).toEqual({ delete: ['p'] });
    expect(own.bodies('/interrupt')).toEqual(interrupted ? [{ prompt_id: 'p' }] : []);
  });
});

test('comfyGraphs.nodes: all classes of the server', async () => {
  const { graphs } = world({ '/object_info': () => ({ Anything: { input: {} } }) });
  expect(await graphs.nodes(never)).toEqual({ Anything: { input: {} } });
});
