import { expect, test } from 'vitest';
import { otlpHeaders } from './tracer.ts';

test('OTEL_EXPORTER_OTLP_HEADERS: names and percent-encoded values', () => {
  expect(otlpHeaders('Authorization=Bearer%20a%3Db, x-team = blue ')).toEqual({
    authorization: 'Bearer a=b',
    'x-team': 'blue',
  });
  expect(otlpHeaders('')).toEqual({});
});

test('OTEL_EXPORTER_OTLP_HEADERS: invalid entries are left out', () => {
  expect(otlpHeaders('nothing,=x,bad name=1,key=a%0d%0ax: y,half=%zz,ok=1')).toEqual({ half: '%zz', ok: '1' });
});
