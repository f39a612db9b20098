import { describe, expect } from 'vitest';
import { noKey } from '../../core/owner.ts';
import type { JsonObject } from '../../http/body.ts';
import type { Answered } from '../testing/asked.ts';
import { asking, type Proof, proveFidelity, type Seen, tableOf } from '../testing/fidelity-proof.ts';
import { fakeImage, pixelAt, pngOf } from '../testing/pictures.ts';
import { node, stockBody, stockGraph } from './testing/graphs.ts';
import { sendImage } from './testing/sent.ts';
import { comfyWorld } from './testing/world.ts';

/** The queue items of a prompt. */
function world() {
  const { endpoints, prompts } = comfyWorld(fakeImage());
  return {
    endpoints,
    get asked() {
      const { queue_pending: pending } = prompts.queue(noKey) as { queue_pending: readonly unknown[][] };
      return pending.map(([number, id, graph, extra, outputs]) => ({ number, id, graph, extra, outputs }));
    },
  };
}

const two = { ...stockGraph(), '10': node('PreviewImage', { images: ['8', 0] }) };
const proofs: Readonly<Record<string, Proof>> = {
  prompt: { send: { prompt: two }, asks: { outputs: ['9', '10'] }, refuses: [{ prompt: {} }, { prompt: 5 }] },
  client_id: { send: { client_id: 'me' }, asks: { extra: { client_id: 'me' } }, refuses: [{ client_id: 5 }] },
  prompt_id: { send: { prompt_id: 'mine' }, asks: { id: 'mine' }, refuses: [{ prompt_id: {} }] },
  number: { send: { number: 7 }, asks: { number: 7 } },
  front: { send: { front: true }, asks: { number: -1 } },
  extra_data: { send: { extra_data: { a: 1 } }, asks: { extra: { a: 1 } }, refuses: [{ extra_data: 'x' }] },
  partial_execution_targets: {
    send: { partial_execution_targets: ['10'] },
    beside: { prompt: two },
    asks: { outputs: ['10'] },
    refuses: [{ partial_execution_targets: ['x'] }],
  },
};

const refusal = (reply: unknown) =>
  expect(reply).toMatchObject({
    error: { type: expect.any(String), message: expect.any(String) },
    node_errors: expect.any(Object),
  });
const { rows } = comfyWorld();

proveFidelity({
  table: tableOf(rows, 'POST /prompt'),
  base: stockBody(),
  ask: asking(world, 'POST', '/prompt'),
  proofs,
  refusal,
});

/** A refusal changes nothing. */
const seen = ({ status, headers, text }: Answered, asked: readonly object[]): Seen => ({
  status,
  headers,
  reply: text,
  asked: status < 400 ? asked : [],
});

describe.each(['/queue', '/history'])('POST %s', (path) => {
  async function ask(body: JsonObject): Promise<Seen> {
    const { get, post, drawAll } = comfyWorld();
    for (const id of ['one', 'two', 'three']) await post('/prompt', stockBody({ prompt_id: id }));
    if (path === '/history') await drawAll();
    const reply = await post(path, body);
    const { json } = await get(path);
    const left = path === '/queue' ? json.queue_pending.map(([, id]: readonly unknown[]) => id) : Object.keys(json);
    return seen(reply, [{ left }]);
  }

  proveFidelity({
    table: tableOf(rows, 'POST /queue'),
    base: {},
    ask,
    proofs: {
      clear: { send: { clear: true }, asks: { left: [] } },
      delete: { send: { delete: ['two'] }, asks: { left: ['one', 'three'] }, refuses: [{ delete: 'two' }] },
    },
    refusal,
  });
});

describe('POST /interrupt', () => {
  async function ask(body: JsonObject): Promise<Seen> {
    const fake = fakeImage({
      script: async function* (request, { signal }) {
        yield { type: 'progress', step: 1, steps: request.steps };
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        throw signal.reason;
      },
    });
    const { prompts, post, timer } = comfyWorld(fake);
    await post('/prompt', stockBody({ prompt_id: 'mine' }));
    timer.pass(100);
    const settled = () => new Promise((resolve) => setImmediate(resolve));
    while (fake.asked.length === 0) await settled();
    const reply = await post('/interrupt', body);
    for (let round = 0; round < 20; round += 1) await settled();
    const asked = [{ running: prompts.remaining }];
    prompts.interrupt(noKey);
    return seen(reply, asked);
  }

  proveFidelity({
    table: tableOf(rows, 'POST /interrupt'),
    base: {},
    ask,
    proofs: { prompt_id: { send: { prompt_id: 'other' }, asks: { running: 1 }, refuses: [{ prompt_id: {} }] } },
    refusal,
  });
});

proveFidelity({
  table: tableOf(rows, 'POST /free'),
  base: {},
  ask: asking(world, 'POST', '/free'),
  proofs: {},
  refusal,
});

describe('POST /upload/image', () => {
  const transparent = JSON.stringify({ filename: 'there.png' });

  /** With a picture that exists already, of the same name with overwrite. */
  const sending = (path: string) => async (body: JsonObject) => {
    const sent = comfyWorld();
    await sendImage(sent, {}, pngOf(4, 4), 'there.png');
    const fields = Object.fromEntries(Object.entries(body).map(([name, value]) => [name, String(value)]));
    const reply = await sendImage(sent, fields, pngOf(4, 4, [0, 0, 0, 9]), 'there.png', path);
    const place = {
      filename: reply.json.name ?? '',
      subfolder: reply.json.subfolder ?? '',
      type: reply.json.type ?? '',
    };
    const { bytes } = await sent.get(`/view?${new URLSearchParams(place)}`);
    const colour = reply.status === 200 ? await pixelAt(bytes, 1, 1) : [];
    return seen(reply, [{ ...place, colour }]);
  };

  proveFidelity({
    table: tableOf(rows, 'POST /upload/image'),
    base: {},
    ask: sending('/upload/mask'),
    proofs: {
      overwrite: { send: { overwrite: 'true' }, asks: { filename: 'there.png' } },
      type: { send: { type: 'temp' }, asks: { type: 'temp', filename: 'there.png' } },
      subfolder: {
        send: { subfolder: 'clips' },
        asks: { subfolder: 'clips' },
        refuses: [{ subfolder: '../up' }, { subfolder: '/etc' }],
      },
      original_ref: {
        send: { original_ref: transparent },
        asks: { colour: [200, 30, 30, 9] },
        refuses: [{ original_ref: 'x' }, { original_ref: '{"filename":"gone.png"}' }],
      },
      originalRef: { send: { originalRef: transparent }, asks: { colour: [200, 30, 30, 9] } },
    },
    refusal,
  });
});
