import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { chat, exchange } from '../testing/exchange.ts';
import { exportBody, type OtlpSpan, unixNano } from './otlp.ts';
import { requestSpans } from './request-spans.ts';

const client = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const traceparent = () => '00-0af7651916cd43dd8448eb211c80319c-00000000000000aa-01';
const startMs = Date.parse('2030-01-02T03:04:05.000Z');

function ids() {
  let count = 0;
  return () => {
    count += 1;
    return String(count).padStart(16, '0');
  };
}

const attributesOf = ({ attributes }: OtlpSpan) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

test('spans: a request is the child of its client, and its phases are children of the request', () => {
  const { record } = chat({ headers: { traceparent: client } }, { traceparent });
  record.ended('sent');
  const [request, ...phases] = requestSpans(record, ids());
  expect(request).toMatchObject({
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: '00000000000000aa',
    parentSpanId: 'b7ad6b7169203331',
    name: 'POST /v1/chat/completions',
    kind: 2,
    startTimeUnixNano: `${startMs}000000`,
    endTimeUnixNano: `${startMs + 90}000000`,
    status: { code: 0 },
  });
  expect(phases.map(({ name }) => name)).toEqual(['body', 'queue', 'load', 'prompt', 'generation']);
  for (const phase of phases)
    expect(phase).toMatchObject({ traceId: request?.traceId, parentSpanId: '00000000000000aa', kind: 1 });
  expect(new Set(phases.map(({ spanId }) => spanId)).size).toBe(5);
  expect(phases.at(-1)).toMatchObject({
    startTimeUnixNano: `${startMs + 30}000000`,
    endTimeUnixNano: `${startMs + 90}000000`,
  });
});

test('spans: attributes follow the semantic conventions, and have no headers', () => {
  const { record } = chat({}, { traceparent });
  record.ended('sent');
  const spans = requestSpans(record, ids());
  expect(spans[0]?.parentSpanId).toBeUndefined();
  expect(attributesOf(spans[0] as OtlpSpan)).toMatchObject({
    'http.request.method': 'POST',
    'http.route': '/v1/chat/completions',
    'http.response.status_code': '200',
    'url.path': '/base/v1/chat/completions',
    'client.address': '10.0.0.7',
    'parley.request_id': 'req_1',
    'gen_ai.system': 'parley',
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'mini',
    'gen_ai.usage.input_tokens': '10',
    'gen_ai.usage.output_tokens': '3',
    'gen_ai.response.finish_reasons': { values: [{ stringValue: 'stop' }] },
  });
  expect(attributesOf(spans.at(-1) as OtlpSpan)).toMatchObject({
    'gen_ai.request.max_tokens': '16',
    'gen_ai.request.temperature': 0.5,
    'gen_ai.usage.output_tokens': '3',
  });
  expect(exportBody(spans, { service: 'parley', version: '1' })).not.toMatch(/secret-key|Once|word/);
});

test('spans: an error of the server is an error, one of the client is none', () => {
  const failing = exchange({}, { traceparent }).record;
  failing.errored(new AppError('engine-lost', { capability: 'text' }));
  failing.replied(500);
  failing.ended('sent');
  const [failed] = requestSpans(failing, ids());
  expect(failed?.status).toEqual({ code: 2, message: expect.stringContaining('text engine stopped') });
  expect(attributesOf(failed as OtlpSpan)).toMatchObject({ 'error.type': 'engine-lost', 'parley.outcome': 'failed' });
  const wrong = exchange({ method: 'BREW', family: '', endpoint: '' }, { traceparent }).record;
  wrong.replied(404);
  wrong.ended('sent');
  const [refused] = requestSpans(wrong, ids());
  expect(refused).toMatchObject({ name: 'HTTP', status: { code: 0 } });
  expect(attributesOf(refused as OtlpSpan)).toMatchObject({ 'http.request.method': '_OTHER', 'error.type': '404' });
});

test('spans: a task is named after its engine; a load that failed has its error', () => {
  const { record } = exchange({ endpoint: '/v1/embeddings' }, { traceparent });
  record.queued('embedding');
  record.engineReady('embedding', 'minilm', 10, undefined);
  record.taskEnded('embedding', undefined, 4);
  record.engineReady('embedding', 'minilm', 10, new AppError('engine-lost', { capability: 'embedding' }));
  record.left();
  record.ended('sent');
  const spans = requestSpans(record, ids());
  expect(spans.map(({ name, status }) => [name, status.code])).toEqual([
    ['POST /v1/embeddings', 0],
    ['load embedding', 0],
    ['task embedding', 0],
    ['load embedding', 2],
  ]);
  expect(attributesOf(spans[2] as OtlpSpan)).toMatchObject({ 'gen_ai.operation.name': 'embeddings' });
});

test('spans: a trace that the client does not record is not sent', () => {
  const { record } = chat({}, { traceparent: () => traceparent().replace(/01$/, '00') });
  record.ended('sent');
  expect(requestSpans(record, ids())).toEqual([]);
});

test('unixNano: keeps fractions of milliseconds', () => {
  expect(unixNano(1_900_000_000_123.25)).toBe('1900000000123250000');
  expect(unixNano(1_900_000_000_123)).toBe('1900000000123000000');
});
