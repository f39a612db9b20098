/** A W3C trace context: https://www.w3.org/TR/trace-context/ */
interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Whether its spans are recorded. */
  readonly sampled: boolean;
}

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Undefined for a header that is missing or invalid, as the standard asks: a new trace begins then. */
export function readTraceparent(header: unknown): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] =
    (typeof header === 'string' && pattern.exec(header)) || [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function traceparentOf({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** Random hexadecimal digits, of this many bytes. */
export type NewTraceId = (bytes: 8 | 16) => string;

/** The context of a request: in the trace of its client, or in a new one. */
export function requestContext(parent: TraceContext | undefined, newId: NewTraceId): TraceContext {
  return { traceId: parent?.traceId ?? newId(16), spanId: newId(8), sampled: parent?.sampled ?? true };
}
