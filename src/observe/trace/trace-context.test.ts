import { expect, test } from 'vitest';
import { readTraceparent, requestContext, traceparentOf } from './trace-context.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const newId = (bytes: number) => 'ab'.repeat(bytes);

test('traceparent: a valid one is read, also of a later version', () => {
  expect(readTraceparent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, sampled: true });
  expect(readTraceparent(`00-${traceId}-${spanId}-00`)).toEqual({ traceId, spanId, sampled: false });
  expect(readTraceparent(`cc-${traceId}-${spanId}-01-what-is-new`)).toEqual({ traceId, spanId, sampled: true });
});

test.each([
  undefined,
  ['a', 'b'],
  '',
  'nonsense',
  `ff-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-01-more`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
])('traceparent: %j is ignored', (header) => {
  expect(readTraceparent(header)).toBeUndefined();
});

test('traceparent: a request is in the trace of its client, or begins one', () => {
  const child = requestContext({ traceId, spanId, sampled: false }, newId);
  expect(child).toEqual({ traceId, spanId: 'ab'.repeat(8), sampled: false });
  expect(traceparentOf(requestContext(undefined, newId))).toBe(`00-${'ab'.repeat(16)}-${'ab'.repeat(8)}-01`);
});
