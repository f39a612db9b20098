import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { GraphEvent, GraphRequest } from '../../core/image.ts';
import type { Call } from '../../http/call.ts';
import { asked } from '../testing/asked.ts';
import { type FakeImageOptions, fakeImage, pngOf } from '../testing/pictures.ts';
import { endNodes, withOwnFiles } from './run.ts';
import { node, stockBody } from './testing/graphs.ts';
import { sendImage } from './testing/sent.ts';
import { comfyWorld } from './testing/world.ts';

const png = pngOf(2, 2);
/** Nodes that this server does not know. */
const graph = { '1': node('LoadImage', { image: 'photo.png' }), '2': node('SomeExtension', { image: ['1', 0], x: 1 }) };

function world(options: FakeImageOptions & { readonly whole?: boolean } = {}) {
  const requests: GraphRequest[] = [];
  async function* played(request: GraphRequest): AsyncGenerator<GraphEvent> {
    requests.push(request);
    yield { type: 'event', name: 'executing', data: { node: '2' } };
    yield { type: 'event', name: 'progress', data: { value: 1, max: 2, node: '2', prompt_id: 'of the backend' } };
    yield { type: 'preview', bytes: Uint8Array.of(0, 0, 0, 1, 7) };
    yield { type: 'file', file: { filename: 'made.png', subfolder: 'a', type: 'output', bytes: png } };
    yield { type: 'file', file: { filename: 'made.html', subfolder: '', type: 'output', bytes: Buffer.from('<p>') } };
    const output = { images: [{ filename: 'made.png', subfolder: 'a', type: 'output' }] };
    yield { type: 'event', name: 'executed', data: { node: '2', output } };
    yield { type: 'outputs', outputs: { '2': output } };
  }
  const facts = { graphs: options.whole === false ? ('perhaps' as const) : ('whole' as const) };
  return { ...comfyWorld(fakeImage({ facts, graph: played, ...options })), requests };
}

describe('ComfyUI: whole graphs on a backend', () => {
  test('a graph of unknown nodes runs as it is, and its files are there afterwards', async () => {
    const { post, get, listen, drawAll, requests } = world();
    const listener = listen('me');
    const reply = await post('/prompt', { prompt: graph, client_id: 'me', extra_data: { a: 1 } });
    expect(reply).toMatchObject({ status: 200, json: { node_errors: {} } });
    const { prompt_id: id } = reply.json;
    await drawAll();
    expect(requests[0]).toMatchObject({ graph, extra: { a: 1 } });
    const entry = (await get(`/history/${id}`)).json[id];
    expect(entry).toMatchObject({
      status: { completed: true },
      outputs: { '2': { images: [{ filename: 'made.png' }] } },
    });
    expect(entry.prompt[4]).toEqual(['2']);
    expect((await get('/view?filename=made.png&subfolder=a')).bytes.equals(png)).toBe(true);
    expect((await get('/view?filename=made.html')).headers['content-type']).toBe('application/octet-stream');
    expect(listener.heard.find(({ type }) => type === 'progress')?.data).toMatchObject({ value: 1, prompt_id: id });
    expect(listener.heard.filter(({ type }) => type === 'executed')).toHaveLength(1);
    expect(listener.pictures).toEqual([Buffer.from([0, 0, 0, 1, 7])]);
  });

  test('the backend gets pictures that the client sent, and none of others', async () => {
    const { endpoints, post, drawAll, requests } = world();
    await sendImage({ post }, {}, png);
    await post('/prompt', { prompt: graph });
    const other: Partial<Call> = { key: { name: 'other', scopes: ['images'], weight: 1 } };
    await asked(endpoints, 'POST', '/prompt', { prompt: graph }, other);
    await drawAll();
    expect(requests.map(({ file }) => file('photo.png') !== undefined)).toEqual([true, false]);
    expect(requests[0]?.file('../photo.png')).toBeUndefined();
  });

  test('an error of the backend is the error of the prompt', async () => {
    const { post, get, drawAll } = world({
      graph: async function* () {
        yield { type: 'event', name: 'executing', data: { node: '2' } };
        throw new AppError('engine-failed', { capability: 'image', reason: 'out of memory' });
      },
    });
    const { prompt_id: id } = (await post('/prompt', { prompt: graph })).json;
    await drawAll();
    const { status } = (await get(`/history/${id}`)).json[id];
    expect(status.status_str).toBe('error');
    expect(JSON.stringify(status.messages)).toContain('out of memory');
    expect(status.messages.at(-1)[1]).toMatchObject({ node_id: '2', node_type: 'SomeExtension' });
  });

  test('before the backend is known, a graph waits for it; without ComfyUI it runs here, or says why it cannot', async () => {
    const known = world({ whole: false });
    await known.post('/prompt', stockBody());
    await known.drawAll();
    expect(known.requests).toHaveLength(1);
    const other = comfyWorld(fakeImage({ facts: { graphs: 'perhaps' } }));
    const [runs, cannot] = [await other.post('/prompt', stockBody()), await other.post('/prompt', { prompt: graph })];
    expect([runs.status, cannot.status]).toEqual([200, 200]);
    await other.drawAll();
    const status = async (id: string) => (await other.get(`/history/${id}`)).json[id].status;
    expect(await status(runs.json.prompt_id)).toMatchObject({ completed: true });
    expect(JSON.stringify(await status(cannot.json.prompt_id))).toContain('Prompt has no outputs');
  });

  test('/object_info is that of the backend, with the own files to choose from', async () => {
    const image = ['theirs.png', 'secret.png'];
    const nodes = async () => ({
      LoadImage: { input: { required: { image: [image, { image_upload: true }] } } },
      SomeExtension: { input: { required: { x: ['INT', {}] } } },
    });
    const own = world({ nodes });
    await sendImage(own, {}, png);
    expect((await own.get('/object_info')).json).toEqual({
      LoadImage: { input: { required: { image: [['photo.png'], { image_upload: true }] } } },
      SomeExtension: { input: { required: { x: ['INT', {}] } } },
    });
    expect(Object.keys((await own.get('/object_info/SomeExtension')).json)).toEqual(['SomeExtension']);
    const open = await asked(own.endpoints, 'GET', '/object_info', '', { authorized: false });
    expect(open.json).not.toHaveProperty('SomeExtension');
  });
});

test('withOwnFiles: the newer form of choices', () => {
  const input = { optional: { video: ['COMBO', { options: ['theirs.mp4'], video_upload: true }], y: 1 } };
  expect(withOwnFiles({ LoadVideo: { input } }, ['own.mp4'])).toEqual({
    LoadVideo: { input: { optional: { video: ['COMBO', { options: ['own.mp4'], video_upload: true }], y: 1 } } },
  });
});

test('endNodes: those that no other uses', () => {
  expect(endNodes({ 1: { inputs: {} }, 2: { inputs: { a: ['1', 0] } }, 3: 'x' })).toEqual(['2', '3']);
});
