import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { json } from '../../src/http/call.ts';
import { ask, endpoint, serve } from '../../src/http/testing/world.ts';
import { GraphRefusal, readGraph } from '../../src/protocols/comfy/graph.ts';
import { stockGraph } from '../../src/protocols/comfy/testing/graphs.ts';
import { walkGraph } from '../../src/protocols/comfy/walk.ts';
import { timeout, tryAll } from './try-all.ts';
import { change, changed, type Json } from './values.ts';

const boundary = 'b';
const pieces = [
  ...['--b\r\n', '--b--\r\n', '--b', '\r\n', '\r\n\r\n', '--', '\n', 'x', '\u0000', 'é', ': ', ';'],
  ...['content-disposition: form-data; name="a"', 'content-disposition: form-data; name="file"; filename="a.png"'],
  ...["content-disposition: form-data; name*=utf-8''%ff", 'content-disposition: form-data', 'content-disposition: '],
  ...['content-type: multipart/mixed; boundary=b', 'content-transfer-encoding: base64', `name="${'n'.repeat(2000)}"`],
  '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nvalue\r\n',
  '--b\r\ncontent-disposition: form-data; name="f"; filename="f"\r\n\r\nbytes\r\n',
];

test('forms: any bytes are read or refused, and no file is left', { timeout }, async () => {
  const server = await serve([
    endpoint(({ form }) => json({ files: form?.files.length, fields: form?.fields.size }), { form: { files: 3 } }),
  ]);
  const body = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.array(fc.constantFrom(...pieces), { maxLength: 14 }).map((all) => Buffer.from(all.join(''))),
    },
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  );
  const types = fc.oneof(
    { weight: 8, arbitrary: fc.constant(`multipart/form-data; boundary=${boundary}`) },
    fc.constantFrom(
      'multipart/form-data',
      'multipart/form-data; boundary=""',
      'multipart/mixed; boundary=b',
      'multipart/',
    ),
  );
  await tryAll('forms', fc.tuple(body, types), async ([bytes, type]) => {
    const headers = { 'content-type': type, 'content-length': String(bytes.length) };
    const { status, text } = await ask(server, { method: 'POST', path: '/work', headers, body: bytes });
    expect([200, 400, 413]).toContain(status);
    JSON.parse(text);
  });
  expect(server.errors).toEqual([]);
  const leftUploads = () => readdirSync(tmpdir()).filter((name) => name.startsWith(`parley-upload-${process.pid}-`));
  await vi.waitUntil(() => leftUploads().length === 0, { timeout: 30_000 });
});

const classes = [
  'KSampler',
  'VAEDecode',
  'SaveImage',
  'LoadImage',
  'ImageScale',
  'LoraLoader',
  'PrimitiveInt',
  'Whatever',
];
const link = fc.tuple(
  fc.constantFrom('3', '4', '5', '6', '8', '9', 'n0', 'n1', '', '__proto__'),
  fc.integer({ min: -1, max: 3 }),
);
const input = fc.oneof(
  { weight: 3, arbitrary: link as fc.Arbitrary<Json> },
  fc.constantFrom<Json>(1e308, -1, 0, 2 ** 53, '1e9', null, [], {}, ['3'], [['3', 0], 0], 'x'.repeat(3000)),
);
const extra = fc.array(
  fc.record({
    class_type: fc.constantFrom<Json>(...classes, null, 7),
    inputs: fc.dictionary(
      fc.constantFrom(
        'model',
        'latent_image',
        'samples',
        'images',
        'image',
        'steps',
        'width',
        'seed',
        'value',
        '__proto__',
      ),
      input,
      { maxKeys: 5 },
    ),
  }),
  { maxLength: 6 },
);

test('graphs: a spoilt workflow of ComfyUI is planned or refused by its nodes', { timeout }, () =>
  tryAll('graphs', fc.tuple(fc.array(change, { maxLength: 4 }), extra), ([changes, more]) => {
    const nodes = { ...stockGraph(), ...Object.fromEntries(more.map((one, index) => [`n${index}`, one])) };
    const graph = changes.reduce(changed, nodes as unknown as Json);
    try {
      const { plan } = walkGraph(readGraph(graph), { hasFile: () => true });
      expect(plan.outputs.length).toBeGreaterThan(0);
    } catch (error) {
      expect(error).toBeInstanceOf(GraphRefusal);
      expect((error as GraphRefusal).problem.message).not.toBe('');
    }
  }),
);
