import fc from 'fast-check';
import { anyCharacter } from '../../src/core/testing/any-character.ts';
import { goodBodies } from '../../src/protocols/testing/random-bodies.ts';
import type { SentRequest } from './client.ts';
import type { Operation, Parameter } from './document.ts';
import { harmless, harmlessContent } from './harmless.ts';
import { change, changed, fitting, image, type Json, objectOf, recording, strange } from './values.ts';

/** A request with the operation that it is for. */
export interface FuzzRequest {
  readonly operation: Operation;
  readonly sent: SentRequest;
}

type Body = Readonly<Record<string, Json>>;

/** What is sent as the body: fitting, with something wrong in it, or nonsense. */
function jsonBody(operation: Operation): fc.Arbitrary<string> {
  const known = [operation.example, goodBodies[operation.path]].filter((one) => one !== undefined) as Body[];
  const good = fc
    .tuple(fc.constantFrom(...known), objectOf(operation.body ?? {}))
    .map(([one, other]) => ({ ...one, ...other }));
  const fittingBody = fc.oneof({ weight: 3, arbitrary: good }, objectOf(operation.body ?? {}));
  const written = (body: Json): string =>
    JSON.stringify(
      typeof body === 'object' && body !== null && !Array.isArray(body) ? harmless(operation, body as Body) : body,
    );
  return fc.oneof(
    { weight: 5, arbitrary: fittingBody.map(written) },
    {
      weight: 6,
      arbitrary: fc
        .tuple(fittingBody, fc.array(change, { minLength: 1, maxLength: 2 }))
        .map(([body, changes]) => written(changes.reduce(changed, body as Json))),
    },
    { weight: 1, arbitrary: fittingBody.chain((body) => spoiled(written(body))) },
  );
}

/** What can only be done to the text of a body. */
function spoiled(json: string): fc.Arbitrary<string> {
  return fc.oneof(
    fc.nat({ max: json.length }).map((end) => json.slice(0, end)),
    fc.constantFrom(
      json.replaceAll('"', "'"),
      `[${json}]`,
      `\ufeff \n${json}\n`,
      `${json}${json}`,
      json.replace(/:(\d+)/, ':NaN'),
      json.replace(/:(\d+)/, ':1e400'),
      json.replace(/:"/, ':"\\ud83d'),
      json.replace('{', '{"__proto__":{"stream":true},'),
      `{"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
      ...['', ' ', 'null', '12', '"text"', '[]', '{', 'undefined', '\u0000', '%%%', 'a=b&c=d'],
    ),
    fc.string({ unit: anyCharacter, maxLength: 200 }),
  );
}

const contentTypes = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'application/json; charset=utf-16',
  'application/octet-stream',
  'nonsense',
  '',
];

/** The body, and the headers that belong to it. */
type Content = Pick<SentRequest, 'body' | 'headers'>;

function contentOf(operation: Operation): fc.Arbitrary<Content> {
  const json = jsonBody(operation);
  const typed =
    (type: string) =>
    (text: string): Content => ({ body: Buffer.from(text), headers: { 'content-type': type } });
  const odd = fc.tuple(json, fc.constantFrom(...contentTypes)).map(([text, type]) => typed(type)(text));
  const bytes = fc
    .uint8Array({ maxLength: 300 })
    .map((body) => ({ body: Buffer.from(body), headers: { 'content-type': 'application/json' } }));
  return fc.oneof(
    { weight: 16, arbitrary: json.map(typed('application/json')) },
    { weight: 2, arbitrary: odd },
    { weight: 1, arbitrary: bytes },
    { weight: operation.takesForm ? 16 : 1, arbitrary: formOf(operation) },
  );
}

const files = [image, recording].map((base64) => Buffer.from(base64, 'base64'));

const fileBytes: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...files) },
  fc.tuple(fc.constantFrom(...files), fc.nat(), fc.nat({ max: 255 })).map(([file, index, byte]) => {
    const copy = Buffer.from(file);
    copy[index % copy.length] = byte;
    return copy;
  }),
  fc.tuple(fc.constantFrom(...files), fc.nat()).map(([file, end]) => file.subarray(0, end % file.length)),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
);

/** A form: its texts by the schema, and files. */
function formOf(operation: Operation): fc.Arbitrary<Content> {
  const names = fc.constantFrom('file', 'image', 'image[]', 'mask', 'audio', 'x"y', '');
  const fileNames = fc.constantFrom('a.png', 'a.wav', '../a', 'ä.mp3', '', 'a\u0000b');
  const boundary = 'fuzz-boundary';
  const file = fc.tuple(names, fileNames, fileBytes).map(([name, fileName, bytes]) => {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${fileName}"\r\n\r\n`;
    return Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n')]);
  });
  const texts = objectOf(operation.body ?? {}).map((body) =>
    Object.entries(harmless(operation, body)).map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`);
    }),
  );
  const ends = fc.constantFrom(`--${boundary}--\r\n`, `--${boundary}--`, '', '\r\n--', `--${boundary}`);
  return fc
    .tuple(
      texts,
      fc.array(file, { maxLength: 2 }),
      fc.oneof({ weight: 6, arbitrary: fc.constant(`--${boundary}--\r\n`) }, ends),
    )
    .map(([fields, sent, end]) => ({
      body: Buffer.concat([...fields, ...sent, Buffer.from(end)]),
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    }));
}

const oddHeaders: fc.Arbitrary<Readonly<Record<string, string>>> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  fc.constantFrom<Readonly<Record<string, string>>>(
    { 'x-koboldcpp-keepalive': 'true' },
    { 'x-parley-resumable': '1' },
    { 'last-event-id': '3', 'x-parley-resumable': '1' },
    { 'x-request-id': 'a b' },
    { accept: 'text/html' },
    { accept: 'text/event-stream' },
    { accept: '' },
    { 'accept-encoding': 'gzip, br' },
    { authorization: 'Bearer wrong' },
    { authorization: 'Basic !!!' },
    { 'user-agent': 'GitHubCopilotChat/1' },
    { range: 'bytes=0-1' },
    { 'if-none-match': '*' },
    { cookie: 'a=b; '.repeat(100) },
    { 'content-encoding': 'gzip' },
    { expect: '100-continue' },
    { 'x-forwarded-for': '1.2.3.4, ::1' },
    { 'anthropic-version': 'never', 'x-api-key': 'ü'.normalize('NFD').slice(0, 1) },
  ),
);

/** Path parameters: nothing is known under most ids. */
const pathValue = fc.oneof(
  fc.constantFrom(
    'x',
    'resp_1',
    'KSampler',
    'koboldcpp%2Fparley-mini',
    '..%2F..%2Fa',
    '%00',
    '%ff',
    'a%20b',
    '..',
    'ü',
  ),
  fc.string({ maxLength: 12 }).map(encodedPart),
);

/** Without half a character, which has no encoding. */
function encodedPart(text: string): string {
  return encodeURIComponent(text.replace(/[\ud800-\udfff]/g, '')) || 'x';
}

function targetOf({ path, parameters }: Operation): fc.Arbitrary<string> {
  const query = parameters.filter((one) => one.in === 'query');
  const value = (one: Parameter) => fc.oneof({ weight: 3, arbitrary: fitting(one.schema, one.name) }, strange);
  const pairs = fc.record(Object.fromEntries(query.map((one) => [one.name, value(one)])), { requiredKeys: [] });
  const others = fc.dictionary(
    fc.constantFrom('genkey', 'stream', 'id_task', 'key', 'max_items', 'filename', 'type'),
    strange,
    {
      maxKeys: 2,
    },
  );
  const odd = fc.constantFrom('', '?', '?&&&', '?a=%', '?=b', '?%ff=1', '?a=1&a=2', `?x=${'y'.repeat(5000)}`);
  const written = (values: Readonly<Record<string, Json | undefined>>): string => {
    const texts = Object.entries(values).map(([name, one]) => [
      name,
      typeof one === 'string' ? one : JSON.stringify(one),
    ]);
    const limited = texts.map(([name = '', text = '']) => `${encodedPart(name)}=${encodedPart(text.slice(0, 500))}`);
    return limited.length === 0 ? '' : `?${limited.join('&')}`;
  };
  const asked = fc.oneof(
    { weight: query.length > 0 ? 8 : 1, arbitrary: pairs.map(written) },
    { weight: 1, arbitrary: others.map(written) },
    { weight: 1, arbitrary: odd },
    { weight: query.length > 0 ? 1 : 12, arbitrary: fc.constant('') },
  );
  const pathname = path.includes('{')
    ? pathValue.map((one) => encodeURI(path.replace(/\{\w+\}/, '#')).replace('#', encodeURI(decodable(one))))
    : fc.constant(path);
  return fc.tuple(pathname, asked).map(([way, rest]) => way + rest);
}

/** As it may stand in a path: already encoded, or plain. */
function decodable(text: string): string {
  return /%/.test(text) ? text.replaceAll('%', '\u0001') : text;
}

/** Pictures take a thousand times as long as the rest. */
const slow = /\/(txt2img|img2img|images\/(generations|edits|variations)|upscale|extra-\w+-images?)$/;

/** Random requests for one of these operations. */
export function requests(operations: readonly Operation[]): fc.Arbitrary<FuzzRequest> {
  const chunks = fc.oneof(
    { weight: 9, arbitrary: fc.constant<number[]>([]) },
    fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 8 }),
  );
  const none: Content = { body: Buffer.alloc(0), headers: {} };
  const each = operations.map((operation) => {
    const content: fc.Arbitrary<Content> =
      operation.method === 'POST'
        ? contentOf(operation)
        : fc.oneof({ weight: 9, arbitrary: fc.constant(none) }, contentOf(operation));
    const arbitrary = fc.record({ target: targetOf(operation), content, odd: oddHeaders, chunks }).map(
      ({ target, content: { body, headers }, odd, chunks: pieces }): FuzzRequest => ({
        operation,
        sent: {
          method: operation.method,
          target: target.replaceAll('%01', '%'),
          headers: { ...headers, ...odd },
          body: harmlessContent(operation, body),
          chunks: pieces,
        },
      }),
    );
    const weight = slow.test(operation.path) ? 1 : operation.method === 'POST' ? 12 : 5;
    return { weight, arbitrary };
  });
  return fc.oneof(...each);
}
