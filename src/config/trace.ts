import { badFlags, type Problem, type Read } from './flag.ts';

/** The address of `--trace`: the whole one, or that of the collector, to which `/v1/traces` is added. */
export function readTraceUrl(text: string): Read<{ readonly url: string }> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    return { ok: false, expected: 'the address of an OpenTelemetry collector, such as http://localhost:4318' };
  if (url.username !== '' || url.password !== '')
    return { ok: false, expected: 'an address without a user; OTEL_EXPORTER_OTLP_HEADERS can have an authorization' };
  url.hash = '';
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith('/v1/traces') ? path : `${path}/v1/traces`;
  return { ok: true, url: url.href };
}

export function traceProblems(text: string): Problem[] {
  const reading = text === '' ? undefined : readTraceUrl(text);
  return reading && !reading.ok ? [badFlags(`--trace must be ${reading.expected}.`)] : [];
}
