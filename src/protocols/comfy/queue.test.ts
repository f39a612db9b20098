import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { latch, serve } from '../../http/testing/world.ts';
import { imageHeader } from '../images/image-header.ts';
import { fakeImage } from '../testing/pictures.ts';
import { comfySockets } from './routes.ts';
import { stockBody, stockGraph } from './testing/graphs.ts';
import { comfyWorld } from './testing/world.ts';

describe('ComfyUI connection', () => {
  test('without a client id gets a generated one', () => {
    expect(comfyWorld().listen('').heard[0]?.data.sid).toBe('id-1');
  });

  test('replaces an older connection with the same client id', async () => {
    const { listen, post, drawAll } = comfyWorld();
    const first = listen('me');
    const second = listen('me');
    expect(first.closed()).toBe(true);
    await post('/prompt', stockBody({ client_id: 'me' }));
    await drawAll();
    expect(first.heard).toHaveLength(1);
    expect(second.heard.map(({ type }) => type)).toContain('execution_success');
  });

  test('receives the running node of its client on connect', async () => {
    const { promise } = latch();
    const fake = fakeImage({
      script: async function* (request) {
        yield { type: 'progress', step: 1, steps: request.steps };
        await promise;
      },
    });
    const { listen, post, timer } = comfyWorld(fake);
    await post('/prompt', stockBody({ client_id: 'me' }));
    timer.pass(100);
    await new Promise((resolve) => setImmediate(resolve));
    expect(listen('me').heard[1]).toEqual({ type: 'executing', data: { node: '3', display_node: '3' } });
    expect(listen('other').heard).toHaveLength(1);
  });

  test('receives the status every six seconds while it is open', () => {
    const { listen, timer } = comfyWorld();
    const { heard, leave } = listen('me');
    timer.pass(6000);
    timer.pass(6000);
    expect(heard.map(({ type }) => type)).toEqual(['status', 'status', 'status']);
    leave();
    expect(timer.waiting()).toEqual([]);
  });

  test('answers feature flags with its own, and nothing else', () => {
    const { heard, say } = comfyWorld().listen('me');
    say('{"type":"feature_flags","data":{"supports_preview_metadata":true}}');
    say('not JSON');
    say('5');
    say(Buffer.from('bytes'));
    say(`{"type":"feature_flags","data":"${'x'.repeat(20_000)}"}`);
    expect(heard.slice(1)).toEqual([
      { type: 'feature_flags', data: { supports_preview_metadata: true, max_upload_size: 104_857_600 } },
    ]);
  });

  describe('previews', () => {
    const flags = (supports: unknown) =>
      JSON.stringify({ type: 'feature_flags', data: { supports_preview_metadata: supports } });
    async function previewsFor(...said: readonly string[]) {
      const { fake, listen, post, drawAll } = comfyWorld();
      const listener = listen('me');
      const other = listen('other');
      other.say(flags(true));
      for (const message of said) listener.say(message);
      const steps = { steps: 4 };
      await post('/prompt', stockBody({ client_id: 'me', prompt: stockGraph(steps), prompt_id: 'mine' }));
      await drawAll();
      expect(other.pictures).toEqual([]);
      return { previewEvery: fake?.asked[0]?.request.previewEvery, pictures: listener.pictures };
    }

    test('are sent with metadata to a client that supports it', async () => {
      const { previewEvery, pictures } = await previewsFor(flags(true));
      expect(previewEvery).toBe(4);
      expect(pictures).toHaveLength(1);
      const [frame = Buffer.alloc(8)] = pictures;
      const length = frame.readUInt32BE(4);
      expect(frame.readUInt32BE(0)).toBe(4);
      expect(JSON.parse(frame.toString('utf8', 8, 8 + length))).toEqual({
        node_id: '3',
        display_node_id: '3',
        parent_node_id: null,
        real_node_id: '3',
        prompt_id: 'mine',
        image_type: 'image/png',
      });
      expect(imageHeader(frame.subarray(8 + length))).toMatchObject({ format: 'png', width: 8, height: 8 });
    });

    test.each([
      ['says nothing', []],
      ['says that it cannot', [flags(false)]],
      ['says so no longer', [flags(true), flags(false)]],
      ['says it with something else', [flags('yes')]],
      ['says it without anything', ['{"type":"feature_flags"}']],
    ])('are not drawn for a client that %s', async (_, said) => {
      expect(await previewsFor(...said)).toEqual({ previewEvery: 0, pictures: [] });
    });
  });

  test('works over a real WebSocket and rejects foreign origins', async () => {
    const world = comfyWorld();
    const { port } = await serve(world.endpoints, {
      sockets: comfySockets(world.prompts).map((socket) => ({ ...socket, access: 'guarded' })),
    });
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws?clientId=me`);
    const first = await new Promise((resolve) => socket.once('message', (data) => resolve(JSON.parse(String(data)))));
    expect(first).toMatchObject({ type: 'status', data: { sid: 'me' } });
    socket.terminate();
    const head = await new Promise<string>((resolve) => {
      const raw = connect(port, '127.0.0.1', () => {
        raw.write(
          'GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
        );
      });
      raw.once('data', (data) => {
        resolve(String(data));
        raw.destroy();
      });
    });
    expect(head).toMatch(/^HTTP\/1\.1 403/);
  });
});
