import { randomBytes } from 'node:crypto';
import { networkReason } from '../../core/network-error.ts';
import { percentDecoded } from '../../core/percent-decoded.ts';
import type { ObservedRequest } from '../../core/request-observer.ts';
import type { ExchangeRecord } from '../exchange-record.ts';
import { requestSpans } from './request-spans.ts';
import { SpanExporter, type SpanExporterOptions } from './span-exporter.ts';
import { type NewTraceId, readTraceparent, requestContext, traceparentOf } from './trace-context.ts';

export type Tracer = ReturnType<typeof createTracer>;

/** The server stops even if the collector hangs. */
const closingMs = 2000;
const answerMs = 10_000;

const randomId: NewTraceId = (bytes) => randomBytes(bytes).toString('hex');

interface TracerOptions extends Pick<SpanExporterOptions, 'resource' | 'log'> {
  /** The whole address, with `/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly newId?: NewTraceId;
}

/** Sends a span for each request and its phases to an OpenTelemetry collector (`--trace`). */
export function createTracer({ url, headers, resource, log, newId = randomId }: TracerOptions) {
  const exporter = new SpanExporter({
    resource,
    log,
    // The path may be a secret.
    collector: new URL(url).origin,
    startTimer: (milliseconds, passed) => {
      const timer = setTimeout(passed, milliseconds).unref();
      return { cancel: () => clearTimeout(timer) };
    },
    post: (body) => post(url, headers, body),
  });
  return {
    /** The trace context of a request, which is that of its client if it has one. */
    traceparent: ({ headers: sent }: Pick<ObservedRequest, 'headers'>) =>
      traceparentOf(requestContext(readTraceparent(sent.traceparent), newId)),
    record: (record: ExchangeRecord) => exporter.add(requestSpans(record, newId)),
    /** Spans so far, by whether the collector got them. */
    counts: () => exporter.counts,
    /** Sends what is left, within a limit of time. */
    close: () => exporter.close(closingMs),
  };
}

async function post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<number> {
  try {
    const signal = AbortSignal.timeout(answerMs);
    const sent = { ...headers, 'content-type': 'application/json' };
    // A redirect could lead the headers, which often have a key, elsewhere.
    const reply = await fetch(url, { method: 'POST', headers: sent, body, signal, redirect: 'manual' });
    await reply.body?.cancel();
    return reply.status;
  } catch (error) {
    throw new Error(reasonOf(error));
  }
}

/** The message of `fetch` itself says nothing. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return networkReason(error) ?? (cause instanceof Error ? cause.message : message);
}

/** `OTEL_EXPORTER_OTLP_HEADERS`: `name=value,other=value`, percent-encoded. Invalid entries are left out. */
export function otlpHeaders(text: string): Readonly<Record<string, string>> {
  const entries = text.split(',').flatMap((entry) => {
    const [, name = '', value = ''] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(.*?)\s*$/.exec(entry) ?? [];
    const decoded = percentDecoded(value);
    // Control characters could add headers.
    return name !== '' && /^[\x20-\x7e\t]*$/.test(decoded) ? [[name.toLowerCase(), decoded] as const] : [];
  });
  return Object.fromEntries(entries);
}
